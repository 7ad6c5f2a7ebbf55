/* gperftools/malloc_extension.h - the allocator's object for C++: statistics, properties, profiles, tuning.
 *
 * malloc_extension_c.h tells what the functions do that have a namesake there. The order of the virtual functions is part of the
 * binary interface.
 */
#ifndef GPERFTOOLS_MALLOC_EXTENSION_H_
#define GPERFTOOLS_MALLOC_EXTENSION_H_

#include <stddef.h>

#ifdef __cplusplus

#include <stdint.h>

#include <string>
#include <vector>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

static const int kMallocHistogramSize = 64;

typedef std::string MallocExtensionWriter; /* texts are appended */

namespace base {
struct MallocRange;
}

/* Accepted and given back; memory does not come from it. */
class PERFTOOLS_DLL_DECL SysAllocator {
public:
    SysAllocator() {}
    virtual ~SysAllocator();
    virtual void *Alloc(size_t size, size_t *actual_size, size_t alignment) = 0;
};

class PERFTOOLS_DLL_DECL MallocExtension {
public:
    typedef void(RangeFunction)(void *arg, const base::MallocRange *range);
    enum Ownership { kUnknownOwnership = 0, kOwned, kNotOwned };
    struct FreeListInfo {
        size_t min_object_size, max_object_size, total_bytes_free;
        const char *type;
    };

    virtual ~MallocExtension();

    static void Initialize();
    static MallocExtension *instance(); /* never NULL */
    static void Register(MallocExtension *implementation);

    virtual bool VerifyAllMemory();
    virtual bool VerifyNewMemory(const void *p);
    virtual bool VerifyArrayNewMemory(const void *p);
    virtual bool VerifyMallocMemory(const void *p);
    virtual bool MallocMemoryStats(int *blocks, size_t *total, int histogram[kMallocHistogramSize]);
    virtual void GetStats(char *buffer, int buffer_length);

    /* Heap profiles as texts that pprof reads: what is in use, by samples; where the heap grew. */
    virtual void GetHeapSample(MallocExtensionWriter *writer);
    virtual void GetHeapGrowthStacks(MallocExtensionWriter *writer);

    /* Calls func for each piece of the heap. It must not allocate. */
    virtual void Ranges(void *arg, RangeFunction func);

    virtual bool GetNumericProperty(const char *property, size_t *value);
    virtual bool SetNumericProperty(const char *property, size_t value);
    virtual void MarkThreadIdle();
    virtual void MarkThreadBusy();
    virtual SysAllocator *GetSystemAllocator();
    virtual void SetSystemAllocator(SysAllocator *a);
    virtual void ReleaseToSystem(size_t num_bytes);
    virtual void ReleaseFreeMemory();
    virtual void SetMemoryReleaseRate(double rate);
    virtual double GetMemoryReleaseRate();
    virtual size_t GetEstimatedAllocatedSize(size_t size);
    virtual size_t GetAllocatedSize(const void *p);
    virtual Ownership GetOwnership(const void *p);
    virtual void GetFreeListSizes(std::vector<FreeListInfo> *v);

    /* Entries of count, size, depth and so many addresses; a count of 0 ends them. To be freed by delete[]. */
    virtual void **ReadStackTraces(int *sample_period);
    virtual void **ReadHeapGrowthStackTraces();

    virtual size_t GetThreadCacheSize();
    virtual void MarkThreadTemporarilyIdle();
};

namespace base {

struct MallocRange {
    enum Type { INUSE, FREE, UNMAPPED, UNKNOWN };
    uintptr_t address;
    size_t length;
    Type type;
    double fraction; /* of it that is in use; 0 unless INUSE */
};

} // namespace base

#endif

#endif

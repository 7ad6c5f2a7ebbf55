/* gperftools_rank.c - processes of a parallel job that are not each other's children have one value of CPUPROFILE or HEAPPROFILE in
 * their environment, often on one machine. Their launchers tell them apart:
 *
 *   PMIX_RANK=N                       .rank-N         Open MPI, by PMIx
 *   SLURM_JOB_ID with SLURM_PROCID=N  .slurmid-N      Slurm; without SLURM_PROCID the process's id
 *   OMPI_HOME                         the process's id
 *   PMI_RANK=N                        .rank-N         MPICH
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dialect/gperftools_rank.h"

#include "os/os.h"

/* NULL as well when it is empty. */
static const char *value_of(const char *variable) {
    const char *v = vt__os_getenv(variable);
    return v != NULL && *v != '\0' ? v : NULL;
}

static bool put(struct vt_text *t, const char *before, const char *number) {
    vt__text_put(t, before);
    vt__text_put(t, number);
    return false;
}

bool vt__gperftools_put_rank(struct vt_text *t) {
    const char *number = value_of("PMIX_RANK");
    if (number != NULL) return put(t, ".rank-", number);
    if (value_of("SLURM_JOB_ID") != NULL) {
        number = value_of("SLURM_PROCID");
        return number != NULL ? put(t, ".slurmid-", number) : true;
    }
    if (value_of("OMPI_HOME") != NULL) return true;
    number = value_of("PMI_RANK");
    return number != NULL ? put(t, ".rank-", number) : false;
}

/* remote.c - see remote.h. Climate: cli. */
#include "report/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/read_symbols.h"

#define CMDLINE_BYTES (64u << 10) /* more is no command line */
#define PAGE_SECONDS 60           /* for an answer that takes the server no time */

/* The pages of a server, as they end a URL. */
static const struct page {
    const char *path;
    bool takes_time; /* wants ?seconds= */
} pages[] = {
    {"/pprof/profile", true},         {"/pprof/heap", false},
    {"/pprof/growth", false},         {"/pprof/contention", false},
    {"/pprof/pmuprofile", true},      {"/pprof/wall", true},
    {"/pprof/filteredprofile", true}, {"/pprof/censusprofile", true},
    {"/pprof/allocs", false},         {"/pprof/block", false},
    {"/pprof/mutex", false},          {"/pprof/goroutine", false},
    {"/pprof/threadcreate", false},   {NULL, false},
};

static const char *behind_scheme(const char *name) {
    if (strncmp(name, "http://", 7) == 0) return name + 7;
    if (strncmp(name, "https://", 8) == 0) return name + 8;
    return name;
}

static bool is_port(const char *s, size_t n) {
    if (n == 0 || n > 5) return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return true;
}

bool remote_is_url(const char *name) {
    const char *host = behind_scheme(name);
    size_t n_host = strcspn(host, "/?");
    if (host != name) return n_host > 0;
    if (n_host == 0 || host[0] == '.') return false;
    const char *colon = memrchr(host, ':', n_host);
    if (colon && colon > host) return is_port(colon + 1, n_host - (size_t)(colon + 1 - host));
    return strncmp(host + n_host, "/pprof/", 7) == 0; /* host/pprof/heap */
}

/* The page that a path of n characters ends in. */
static const struct page *page_at_end(const char *path, size_t n) {
    for (const struct page *page = pages; page->path; page++) {
        size_t m = strlen(page->path);
        if (n >= m && memcmp(path + n - m, page->path, m) == 0) return page;
    }
    return NULL;
}

int remote_parse(const char *name, unsigned n_seconds, struct remote *r, struct report_error *e) {
    const char *host = behind_scheme(name);
    size_t n_host = strcspn(host, "/?");
    const char *path = host + n_host, *query = path + strcspn(path, "?");
    size_t n_path = (size_t)(query - path);
    const char *scheme = strncmp(name, "https:", 6) == 0 ? "https" : "http";
    char seconds[32] = "";
    *r = (struct remote){.url = ""};
    if (n_host == 0 || n_host >= sizeof r->host || strlen(name) + 100 > sizeof r->url)
        return report_fail(e, EINVAL, "'%.100s': is no URL of a host and a page", name);
    (void)snprintf(r->host, sizeof r->host, "%.*s", (int)n_host, host);
    if (n_path <= 1) {
        path = pages[0].path;
        n_path = strlen(path);
    }
    const struct page *page = page_at_end(path, n_path);
    (void)snprintf(r->service, sizeof r->service, "%s", page ? page->path : "");
    if (page && page->takes_time) {
        const char *given = strstr(query, "seconds=");
        r->n_seconds = given ? (unsigned)strtoul(given + 8, NULL, 10) : n_seconds;
        if (given == NULL)
            (void)snprintf(seconds, sizeof seconds, "%cseconds=%u", *query ? '&' : '?', n_seconds);
    }
    if (page)
        (void)snprintf(r->base, sizeof r->base, "%s://%s%.*s", scheme, r->host,
                       (int)(n_path - strlen(page->path)), path);
    (void)snprintf(r->url, sizeof r->url, "%s://%s%.*s%s%s", scheme, r->host, (int)n_path, path,
                   query, seconds);
    return 0;
}

uint64_t remote_now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* One request, in what is left of the time for all. */
static int ask(const struct remote *r, struct fetch *f, unsigned n_seconds, struct intake *out,
               struct report_error *e) {
    uint64_t now = remote_now_ms();
    f->tls = r->tls;
    f->within_ms = r->deadline_ms ? r->deadline_ms - now : (uint64_t)n_seconds * 1000;
    if (r->deadline_ms && r->deadline_ms <= now)
        return report_fail(e, ETIMEDOUT, "'%s': no answer within the time: earlier ones took it",
                           f->url);
    return fetch(f, out, e);
}

static int fetch_beside(const struct remote *r, const char *page, const char *query,
                        const char *post, struct intake *out, struct report_error *e) {
    char url[2 * REMOTE_URL];
    (void)snprintf(url, sizeof url, "%s/pprof/%s%s", r->base, page, query);
    out->name = r->base;
    return ask(r, &(struct fetch){.url = url, .post = post}, PAGE_SECONDS, out, e);
}

int remote_program(const struct remote *r, char *out, size_t n_bytes, struct report_error *e) {
    struct intake in = {.max_bytes = CMDLINE_BYTES};
    const struct buffer *b = &in.out;
    *out = '\0';
    int error = *r->base ? fetch_beside(r, "cmdline", "", NULL, &in, e) : 0;
    if (error == 0 && b->n > 0) {
        size_t n = 0; /* arguments end in NUL or newline */
        while (n < b->n && b->bytes[n] != '\0' && b->bytes[n] != '\n' && b->bytes[n] != '\r') n++;
        if (b->bytes[0] != '<') (void)snprintf(out, n_bytes, "%.*s", (int)n, b->bytes);
    }
    intake_free(&in);
    return error == -ETIMEDOUT ? error : 0;
}

int remote_fetch(const struct remote *r, struct intake *out, struct report_error *e) {
    return ask(r, &(struct fetch){.url = r->url}, r->n_seconds + r->n_seconds / 100 + PAGE_SECONDS,
               out, e);
}

/* ---- names */

static bool is_unknown(const struct profile_location *l) { return l->n_lines == 0 && l->address; }

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* "0x0000000000401234+0x..." in ascending order; NULL: all are known. */
static char *question(const struct profile *p) {
    uint32_t n = 0;
    uint64_t *all = report_alloc(p->n_locations * sizeof *all);
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (is_unknown(&p->locations[i])) all[n++] = p->locations[i].address;
    if (n > 1) qsort(all, n, sizeof *all, by_number);
    char *text = n ? report_alloc((size_t)n * 19 + 1) : NULL, *at = text;
    for (uint32_t i = 0; i < n; i++)
        at += snprintf(at, 20, "%s0x%016" PRIx64, i ? "+" : "", all[i]);
    free(all);
    return text;
}

/* "num_symbols: 4711"; 0: the server says that it has none, or something else. */
static bool has_symbols(const struct buffer *b) {
    static const char words[] = "num_symbols:";
    size_t n = sizeof words - 1;
    if (b->n < n || memcmp(b->bytes, words, n) != 0) return false;
    while (n < b->n && b->bytes[n] == ' ') n++;
    return n < b->n && b->bytes[n] >= '1' && b->bytes[n] <= '9';
}

int remote_symbolize(const struct remote *r, const char *query, struct profile *p,
                     struct report_error *e) {
    struct intake in = {.max_bytes = r->max_bytes}, answer = in;
    if (*r->base == '\0') return 0;
    char *post = question(p);
    if (post == NULL) return 0;
    int error = fetch_beside(r, "symbol", "", NULL, &in, e);
    if (error == 0 && !has_symbols(&in.out)) {
        profile_note(p, "'%s/pprof/symbol': the server has no names (a stripped program?)",
                     r->base);
    } else if (error == 0) {
        error = fetch_beside(r, "symbol", query, post, &answer, e);
        if (error == 0 && answer.out.n > 0) symbol_lines_apply(p, answer.out.bytes, answer.out.n);
    }
    free(post);
    intake_free(&in);
    intake_free(&answer);
    return error;
}

/* fetch.c - see fetch.h. libcurl is loaded by the first fetch (late.h). Climate: cli. */
#include "report/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/late.h"

#define CONNECT_SECONDS 10
#define MAX_REDIRECTS 5

static struct {
    bool is_ready;
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *init;
    __typeof__(curl_easy_cleanup) *cleanup;
    __typeof__(curl_easy_setopt) *setopt;
    __typeof__(curl_easy_perform) *perform;
    __typeof__(curl_easy_getinfo) *getinfo;
    __typeof__(curl_easy_strerror) *strerror;
} curl;

static bool load_curl(void) {
    static const struct late_function functions[] = {
        {"curl_global_init", &curl.global_init}, {"curl_easy_init", &curl.init},
        {"curl_easy_cleanup", &curl.cleanup},    {"curl_easy_setopt", &curl.setopt},
        {"curl_easy_perform", &curl.perform},    {"curl_easy_getinfo", &curl.getinfo},
        {"curl_easy_strerror", &curl.strerror},  {NULL, NULL}};
    if (!curl.is_ready)
        curl.is_ready =
            (late_load("libcurl.so.4", functions) || late_load("libcurl-gnutls.so.4", functions)) &&
            curl.global_init(CURL_GLOBAL_DEFAULT) == 0;
    return curl.is_ready;
}

struct answer {
    struct intake *out;
    struct report_error *e;
    int error; /* of the intake */
};

static size_t keep(char *bytes, size_t size, size_t n, void *context) {
    struct answer *a = context;
    a->error = intake_take(a->out, bytes, size * n, a->e);
    return a->error == 0 ? size * n : 0;
}

static int answered(const struct fetch *f, long status, struct intake *answer,
                    struct report_error *e) {
    int error = intake_end(answer, e);
    if (status < 400) return error;
    const char *text = answer->out.bytes;
    size_t n = answer->out.n, line = 0;
    while (line < n && line < 100 && text[line] != '\n') line++;
    bool is_page = n > 0 && *text == '<';
    return report_fail(e, status == 404 ? ENOENT : EPROTO, "'%s': the server answers %ld%s%.*s",
                       f->url, status, line && !is_page ? ": " : "", is_page ? 0 : (int)line,
                       n ? text : "");
}

static int failed(const struct fetch *f, CURLcode code, const char *why, struct report_error *e) {
    if (code == CURLE_OPERATION_TIMEDOUT)
        return report_fail(e, ETIMEDOUT, "'%s': no answer within the time: %s", f->url, why);
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        return report_fail(e, ECONNREFUSED, "'%s': no server there: %s", f->url, why);
    return report_fail(e, EIO, "'%s': cannot fetch: %s", f->url, why);
}

static bool ask_for(CURL *c, const struct fetch *f, struct answer *out, char *why) {
    bool is_good = curl.setopt(c, CURLOPT_URL, f->url) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_TIMEOUT_MS, (long)f->within_ms) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_USERAGENT, "vitrine") == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_ERRORBUFFER, why) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_WRITEFUNCTION, keep) == CURLE_OK;
    is_good &= curl.setopt(c, CURLOPT_WRITEDATA, out) == CURLE_OK;
    if (f->tls.certificate)
        is_good &= curl.setopt(c, CURLOPT_SSLCERT, f->tls.certificate) == CURLE_OK;
    if (f->tls.key) is_good &= curl.setopt(c, CURLOPT_SSLKEY, f->tls.key) == CURLE_OK;
    if (f->tls.authority) is_good &= curl.setopt(c, CURLOPT_CAINFO, f->tls.authority) == CURLE_OK;
    if (f->post) {
        is_good &= curl.setopt(c, CURLOPT_POSTFIELDS, f->post) == CURLE_OK;
        is_good &=
            curl.setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(f->post)) == CURLE_OK;
    }
    return is_good;
}

int fetch(const struct fetch *f, struct intake *out, struct report_error *e) {
    char why[CURL_ERROR_SIZE] = "";
    struct answer answer = {.out = out, .e = e};
    long status = 0;
    if (!load_curl())
        return report_fail(e, ENOTSUP, "'%s': fetching it needs libcurl, which is not here",
                           f->url);
    CURL *c = curl.init();
    if (c == NULL) return report_fail(e, ENOMEM, "'%s': no memory to fetch it", f->url);
    CURLcode code = ask_for(c, f, &answer, why) ? curl.perform(c) : CURLE_FAILED_INIT;
    (void)curl.getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl.cleanup(c);
    if (answer.error != 0) return answer.error; /* the line is set */
    if (code != CURLE_OK) return failed(f, code, *why ? why : curl.strerror(code), e);
    return answered(f, status, out, e);
}

/* Calls of the C library below a folder are counted; the one with a number fails, or kills its process.
 *
 * Preloaded (`LD_PRELOAD`), so that calls of libraries count too. Forked processes share the count. All arguments and
 * results fit in registers, so a call is passed on without its declaration. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

extern long syscall(long number, ...);

struct state {
    long count; /* calls until now */
    long at;    /* number of the call that fails; 0: none */
    long error; /* its errno; 0: it kills its process */
    char call[24];
    char path[256];
};

static struct state *state;
static char folder[512];

/* Start to count calls below a folder in memory that processes share. */
void arm(struct state *shared, const char *below) {
    strncpy(folder, below, sizeof folder - 1);
    state = shared;
}

static const char *path_of(long file, char *into, unsigned long size) {
    char link[40] = "/proc/self/fd/", digits[20];
    int count = 0, at = strlen(link);
    for (long rest = file; count == 0 || rest; rest /= 10) digits[count++] = '0' + rest % 10;
    while (count) link[at++] = digits[--count];
    link[at] = 0;
    long length = syscall(SYS_readlink, link, into, size - 1);
    into[length > 0 ? length : 0] = 0;
    return into;
}

/* Return whether a call of a file or, if it is not absolute, of a path is the one that fails. */
static int fails(const char *call, long file, const char *path) {
    char found[512] = "";
    int before = errno;
    if (!state || (!path && (int)file < 3)) return 0;
    if (!path || (path[0] != '/' && (int)file >= 0)) path_of((int)file, found, sizeof found);
    else if (path[0] == '/') strncpy(found, path, sizeof found - 1);
    else syscall(SYS_getcwd, found, sizeof found);
    errno = before;
    if (strncmp(found, folder, strlen(folder))) return 0;
    if (__sync_add_and_fetch(&state->count, 1) != state->at) return 0;
    strncpy(state->call, call, sizeof state->call - 1);
    strncpy(state->path, path && path[0] != '/' ? path : found, sizeof state->path - 1);
    if (!state->error) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    errno = state->error;
    return 1;
}

#define CALL(name, file, path, failed) \
    long failing_##name(long, long, long, long, long, long) __asm__(#name); \
    long failing_##name(long a, long b, long c, long d, long e, long f) { \
        static long (*next)(long, long, long, long, long, long); \
        if (!next) next = dlsym(RTLD_NEXT, #name); \
        return fails(#name, file, (const char *)(path)) ? failed : next(a, b, c, d, e, f); \
    }
#define PATH(name) CALL(name, -1, a, -1)
#define FILE(name) CALL(name, a, 0, -1)
#define BELOW(name) CALL(name, a, b, -1)

PATH(open) PATH(open64) PATH(creat) PATH(creat64) PATH(stat) PATH(stat64) PATH(lstat) PATH(lstat64) PATH(access)
PATH(mkdir) PATH(rmdir) PATH(unlink) PATH(rename) PATH(link) PATH(symlink) PATH(chmod) PATH(truncate) PATH(truncate64)
PATH(utimes) PATH(chown)
FILE(read) FILE(pread) FILE(pread64) FILE(write) FILE(pwrite) FILE(pwrite64) FILE(writev) FILE(fsync) FILE(fdatasync)
FILE(ftruncate) FILE(ftruncate64) FILE(fstat) FILE(fstat64) FILE(flock) FILE(fchmod) FILE(copy_file_range)
FILE(sendfile) FILE(sendfile64) FILE(fallocate)
BELOW(openat) BELOW(openat64) BELOW(fstatat) BELOW(fstatat64) BELOW(unlinkat) BELOW(mkdirat) BELOW(renameat)
BELOW(renameat2) BELOW(linkat) BELOW(faccessat) BELOW(utimensat)
CALL(opendir, -1, a, 0) CALL(fdopendir, a, 0, 0) CALL(fopen, -1, a, 0) CALL(fopen64, -1, a, 0)
CALL(__fxstat, b, 0, -1) CALL(__fxstat64, b, 0, -1) CALL(__xstat, -1, b, -1) CALL(__xstat64, -1, b, -1)
CALL(__lxstat, -1, b, -1) CALL(__lxstat64, -1, b, -1)

/* Faults in the file operations of a program below one folder, and a clock of its own. The tests build this library
 * and load it with LD_PRELOAD.
 *
 * FAULT_FOLDER    the folder
 * FAULT_LOG       file that gets a line for each operation, and the line `fault` for each one that fails
 * FAULT_CLOCK     time of day at the start, seconds since 1970
 * FAULT_AT        number of the operation that fails, from 1
 * FAULT_KIND      kill: SIGKILL before the operation, in the middle if it is a write
 *                 full: it and all later ones that need space fail with ENOSPC, the first in its middle if it is a write
 *                 once: it alone fails with ENOSPC
 * FAULT_AFTER_US  SIGKILL after this time
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum kind { NONE, KILL, FULL, ONCE };
enum outcome { PASS, HALF, FAIL };

static const char *folder;
static enum kind kind;
static long at;
static int log_fd = -1;
static time_t clock_offset;
static atomic_long operations;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void end_now(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FAULT_KIND");
    const char *number = getenv("FAULT_AT");
    const char *log = getenv("FAULT_LOG");
    const char *start = getenv("FAULT_CLOCK");
    const char *after = getenv("FAULT_AFTER_US");
    if (log)
        log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (start)
        clock_offset = atoll(start) - time(NULL);
    if (name)
        kind = !strcmp(name, "kill") ? KILL : !strcmp(name, "full") ? FULL : ONCE;
    at = number ? atol(number) : 0;
    folder = getenv("FAULT_FOLDER");
    if (after) {
        long us = atol(after);
        struct itimerval span = {{0, 0}, {us / 1000000, us % 1000000}};
        signal(SIGALRM, end_now);
        setitimer(ITIMER_REAL, &span, NULL);
    }
}

static void log_line(const char *operation, const char *path) {
    char line[PATH_MAX + 32];
    int len = snprintf(line, sizeof line, "%s%s%s\n", operation, *path ? " " : "", path);
    if (log_fd >= 0)
        syscall(SYS_write, log_fd, line, len);
}

/* The path below the folder, or NULL. */
static const char *below(const char *path) {
    size_t len = folder ? strlen(folder) : 0;
    return len && !strncmp(path, folder, len) && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

static enum outcome next(const char *operation, const char *path, int needs_space) {
    const char *inside = path ? below(path) : NULL;
    if (!inside)
        return PASS;
    long number = ++operations;
    log_line(operation, inside);
    if (!at || number < at)
        return PASS;
    if (kind == KILL && strcmp(operation, "write"))
        end_now(0);
    if (kind == KILL)
        return HALF;
    if (number > at && (kind == ONCE || !needs_space))
        return PASS;
    if (!strcmp(operation, "write") && number == at && kind == FULL)
        return HALF;
    log_line("fault", "");
    errno = ENOSPC;
    return FAIL;
}

static const char *path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    path[len < 0 ? 0 : len] = 0;
    return path;
}

ssize_t write(int fd, const void *data, size_t len) {
    char path[PATH_MAX];
    switch (next("write", path_of(fd, path), 1)) {
    case HALF:
        len = syscall(SYS_write, fd, data, len / 2);
        if (kind == KILL)
            end_now(0);
        log_line("fault", "");
        return len;
    case FAIL:
        return -1;
    default:
        return syscall(SYS_write, fd, data, len);
    }
}

static int open_file(int dir, const char *path, int flags, mode_t mode) {
    int is_new = (flags & O_TMPFILE) == O_TMPFILE || ((flags & O_CREAT) && access(path, F_OK));
    if ((flags & O_ACCMODE) != O_RDONLY && next("open", path, is_new) != PASS)
        return -1;
    return syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN(name, parameters, dir, extra)                                                                             \
    int name parameters {                                                                                              \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return open_file(dir, path, flags | extra, mode);                                                              \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, 0)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, O_LARGEFILE)
OPEN(openat, (int dir, const char *path, int flags, ...), dir, 0)
OPEN(openat64, (int dir, const char *path, int flags, ...), dir, O_LARGEFILE)

int fsync(int fd) {
    char path[PATH_MAX];
    return next("fsync", path_of(fd, path), 0) == PASS ? REAL(fsync)(fd) : -1;
}

int fdatasync(int fd) {
    char path[PATH_MAX];
    return next("fsync", path_of(fd, path), 0) == PASS ? REAL(fdatasync)(fd) : -1;
}

int mkdir(const char *path, mode_t mode) {
    return next("mkdir", path, 1) == PASS ? REAL(mkdir)(path, mode) : -1;
}

int rename(const char *from, const char *to) {
    return next("rename", to, 0) == PASS ? REAL(rename)(from, to) : -1;
}

int unlink(const char *path) {
    return next("unlink", path, 0) == PASS ? REAL(unlink)(path) : -1;
}

int ftruncate64(int fd, off64_t len) {
    char path[PATH_MAX];
    return next("truncate", path_of(fd, path), 0) == PASS ? REAL(ftruncate64)(fd, len) : -1;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int outcome = syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME)
        now->tv_sec += clock_offset;
    return outcome;
}

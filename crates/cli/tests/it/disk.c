// A disk that tests can watch and break. Loaded before libc (LD_PRELOAD) by cli/tests/it/disk.rs.
//
// The directory STURDY_TEST_DISK holds what it is told and what it saw:
//   synced-files  the path of every other file or directory that was synced, a line each
//   synced     a byte for every fsync of the store's files that succeeded
//   refused    a byte for every write that it refused
//   fail-sync  while it exists, an fsync of the store's files fails with EIO; what was written stays written
//   fail-sync-once   the same for the next one; the file is removed by that
//   full       while it exists, a write to the store's files fails with ENOSPC
//   full-work  "from to": of the writes to files of the worktree (STURDY_TEST_WORK), counted while it exists, those
//              from the first number up to before the second fail with ENOSPC
//   edit       a path: the next write to a file of the worktree lets an editor write "editor" to that path first
//   kill       a number: so many more changes of files are made by the server, and then it dies by SIGKILL
//   kill-at    "name number": it dies by SIGKILL when it logs for the so many-th time that it passes the point of that name
//   read-only  while it exists, the store's files can neither be written nor opened for that: EROFS
//   later      a number: the clock that only goes forward is so many seconds later (with STURDY_TEST_LATER only)
// With STURDY_TEST_AHEAD, the other clock is so many seconds ahead.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return 1;
}

static int names_store(const char *path) {
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/sturdy.db") == 0 || strcmp(name, "/sturdy.db-wal") == 0);
}

static int is_store(int fd) {
    char path[4096];
    return path_of(fd, path, sizeof path) && names_store(path);
}

static const char *place(const char *name, char *path, size_t size) {
    const char *directory = getenv("STURDY_TEST_DISK");
    if (!directory) return NULL;
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static int is_told(const char *name) {
    int before = errno;
    char path[4096];
    int told = place(name, path, sizeof path) && access(path, F_OK) == 0;
    errno = before;
    return told;
}

// Counts, and says how many there were before this one. Two threads that count at once are given different numbers:
// where an appended byte ends up is known behind it.
static long note(const char *name) {
    char path[4096];
    if (!place(name, path, sizeof path)) return 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0) return 0;
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    long number = real_write(fd, ".", 1) == 1 ? lseek(fd, 0, SEEK_CUR) - 1 : 0;
    close(fd);
    return number;
}

// The text of what it is told. 0 when it is not.
static int text_of(const char *name, char *text, size_t size) {
    char path[4096];
    if (!place(name, path, sizeof path)) return 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    if (length < 0) return 0;
    text[length] = 0;
    return 1;
}

// Commands that the server starts are not the server.
static int is_server(void) {
    return strcmp(program_invocation_short_name, "sturdy") == 0;
}

// Before every change of a file that the server makes through libc.
static void point(void) {
    int before = errno;
    char text[64];
    if (is_server() && text_of("kill", text, sizeof text)) {
        if (note("points") >= atol(text)) kill(getpid(), SIGKILL);
    }
    errno = before;
}

// A point is a line of the log at the level trace. It is written by the thread that passes it, so that nothing of what
// follows the line has happened.
static void pass(int fd, const void *bytes, size_t size) {
    int before = errno;
    char text[128];
    char name[100];
    char line[128];
    long number;
    if (fd == STDERR_FILENO && is_server() && text_of("kill-at", text, sizeof text)
        && sscanf(text, "%99s %ld", name, &number) == 2) {
        snprintf(line, sizeof line, " point %s\n", name);
        if (memmem(bytes, size, line, strlen(line)) && note("passes") + 1 >= number) kill(getpid(), SIGKILL);
    }
    errno = before;
}

static int is_work(int fd) {
    char path[4096];
    const char *work = getenv("STURDY_TEST_WORK");
    return work && is_server() && path_of(fd, path, sizeof path) && strncmp(path, work, strlen(work)) == 0;
}

static void let_edit(void) {
    char told[4096];
    char path[4096];
    if (!text_of("edit", path, sizeof path) || unlink(place("edit", told, sizeof told)) != 0) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    (void)!real_write(fd, "editor", 6);
    close(fd);
}

static int refuses_work(int fd) {
    char text[64];
    long from;
    long to;
    if (!is_work(fd)) return 0;
    let_edit();
    if (!text_of("full-work", text, sizeof text) || sscanf(text, "%ld %ld", &from, &to) != 2) return 0;
    long number = note("work");
    if (number < from || number >= to) return 0;
    errno = ENOSPC;
    return 1;
}

int rename(const char *from, const char *to) {
    point();
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    return real(from, to);
}

static int sync_other(int (*real)(int), int fd) {
    int result = real(fd);
    if (result != 0) return result;
    char link[64];
    char line[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, line, 4096);
    char path[4096];
    if (length <= 0 || !place("synced-files", path, sizeof path)) return 0;
    line[length] = '\n';
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return 0;
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    (void)!real_write(file, line, length + 1);
    close(file);
    return 0;
}

static int sync_with(int (*real)(int), int fd) {
    if (!is_store(fd)) return sync_other(real, fd);
    char once[4096];
    int fails_once = place("fail-sync-once", once, sizeof once) && unlink(once) == 0;
    if (fails_once || is_told("fail-sync")) {
        errno = EIO;
        return -1;
    }
    int result = real(fd);
    if (result == 0) note("synced");
    return result;
}

int fsync(int fd) {
    point();
    return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fsync"), fd);
}

int fdatasync(int fd) {
    point();
    return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), fd);
}

static int refuses(int fd) {
    if (refuses_work(fd)) return 1;
    int why = is_told("full") ? ENOSPC : is_told("read-only") ? EROFS : 0;
    if (why == 0 || !is_store(fd)) return 0;
    note("refused");
    errno = why;
    return 1;
}

// A pipe or a socket is no file.
static int changes(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (is_server() && changes(fd)) point();
    pass(fd, bytes, size);
    return refuses(fd) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    point();
    return refuses(fd) ? -1 : real(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    point();
    return refuses(fd) ? -1 : real(fd, bytes, size, at);
}

static int refuses_open(const char *path, int flags) {
    if ((flags & O_ACCMODE) == O_RDONLY || !names_store(path) || !is_told("read-only")) return 0;
    note("refused");
    errno = EROFS;
    return 1;
}

static mode_t mode_of(int flags, va_list more) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return refuses_open(path, flags) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return refuses_open(path, flags) ? -1 : real(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    const char *ahead = getenv("STURDY_TEST_AHEAD");
    if (result == 0 && clock == CLOCK_REALTIME && ahead) now->tv_sec += atol(ahead);
    char later[64];
    int before = errno;
    if (result == 0 && clock == CLOCK_MONOTONIC && getenv("STURDY_TEST_LATER")
        && text_of("later", later, sizeof later)) {
        now->tv_sec += atol(later);
    }
    errno = before;
    return result;
}

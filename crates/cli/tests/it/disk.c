// A disk that tests can watch and break. Loaded before libc (LD_PRELOAD) by cli/tests/it/disk.rs.
//
// The directory STURDY_TEST_DISK holds what it is told and what it saw:
//   synced     a byte for every fsync of the store's files that succeeded
//   refused    a byte for every write that it refused
//   fail-sync  while it exists, an fsync of the store's files fails with EIO; what was written stays written
//   fail-sync-once   the same for the next one; the file is removed by that
//   full       while it exists, a write to the store's files fails with ENOSPC
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_store(int fd) {
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/sturdy.db") == 0 || strcmp(name, "/sturdy.db-wal") == 0);
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

static void note(const char *name) {
    char path[4096];
    if (!place(name, path, sizeof path)) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0) return;
    ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    (void)!real_write(fd, ".", 1);
    close(fd);
}

static int sync_with(int (*real)(int), int fd) {
    if (!is_store(fd)) return real(fd);
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

int fsync(int fd) { return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fsync"), fd); }

int fdatasync(int fd) { return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), fd); }

static int refuses(int fd) {
    if (!is_told("full") || !is_store(fd)) return 0;
    note("refused");
    errno = ENOSPC;
    return 1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return refuses(fd) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return refuses(fd) ? -1 : real(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return refuses(fd) ? -1 : real(fd, bytes, size, at);
}

// A mount that tests can take away. Loaded before libc (LD_PRELOAD) by cli/tests/it/mount.rs.
//
// While the file STURDY_TEST_GONE exists, whoever asks libc for a path below STURDY_TEST_MOUNT waits, as with a network
// mount whose server does not answer: also a process that is being started there, and with it whoever starts it.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// The system itself is asked: our own functions would wait.
static int is_gone(void) {
    const char *gone = getenv("STURDY_TEST_GONE");
    return gone && syscall(SYS_faccessat, AT_FDCWD, gone, F_OK) == 0;
}

static void wait_for(const char *path) {
    int before = errno;
    const char *mount = getenv("STURDY_TEST_MOUNT");
    size_t length = mount ? strlen(mount) : 0;
    int is_below = length && path && strncmp(path, mount, length) == 0 && (path[length] == 0 || path[length] == '/');
    struct timespec moment = {0, 5000000};
    while (is_below && is_gone()) nanosleep(&moment, NULL);
    errno = before;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int chdir(const char *path) {
    wait_for(path);
    return REAL(chdir)(path);
}

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path) {
    wait_for(path);
    return REAL(posix_spawn_file_actions_addchdir_np)(actions, path);
}

char *realpath(const char *path, char *into) {
    wait_for(path);
    return REAL(realpath)(path, into);
}

int stat(const char *path, struct stat *found) {
    wait_for(path);
    return REAL(stat)(path, found);
}

int stat64(const char *path, struct stat64 *found) {
    wait_for(path);
    return REAL(stat64)(path, found);
}

int lstat64(const char *path, struct stat64 *found) {
    wait_for(path);
    return REAL(lstat64)(path, found);
}

int statx(int at, const char *path, int flags, unsigned mask, struct statx *found) {
    wait_for(path);
    return REAL(statx)(at, path, flags, mask, found);
}

static mode_t mode_of(int flags, va_list more) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    wait_for(path);
    return REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    wait_for(path);
    return REAL(open64)(path, flags, mode);
}

DIR *opendir(const char *path) {
    wait_for(path);
    return REAL(opendir)(path);
}

ssize_t readlink(const char *path, char *into, size_t size) {
    wait_for(path);
    return REAL(readlink)(path, into, size);
}

int access(const char *path, int wanted) {
    wait_for(path);
    return REAL(access)(path, wanted);
}

int mkdir(const char *path, mode_t mode) {
    wait_for(path);
    return REAL(mkdir)(path, mode);
}

int unlink(const char *path) {
    wait_for(path);
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to) {
    wait_for(from);
    wait_for(to);
    return REAL(rename)(from, to);
}

/* Preloaded into a process: fsync and fdatasync fail while the file named by FAILING_FSYNC exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int broken(void) {
  const char *flag = getenv("FAILING_FSYNC");
  return flag && access(flag, F_OK) == 0;
}

int fsync(int fd) {
  if (broken()) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  if (broken()) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

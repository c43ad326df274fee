/*
 * Tries every way to make a protected name in the current directory, and to reach the guard that refuses it. Prints one line for
 * each way that succeeded, the number of ways that it tried, and `done`.
 *
 *   make-names ways DIRECTORY   DIRECTORY is outside the workspace and takes writes
 *   make-names race DIRECTORY   threads change paths and directories while others use them
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int tried;
static char free_directory[4096], workspace[4096];
static const char *names[] = { ".git", "sub/.git", "deep/er/.git", ".mcp.json", ".vscode", ".GIT", "sub/.Git", ".git.", ".g\xe2\x80\x8cit", ".v\xc5\xbf" "code" };

static int exists(const char *path)
{
	struct stat stat;
	return lstat(path, &stat) == 0;
}

static void check(const char *way, const char *name)
{
	tried++;
	if (!exists(name)) return;
	printf("made %s: %s\n", name, way);
	char command[5000];
	snprintf(command, sizeof command, "rm -rf -- '%s'", name);
	if (system(command) != 0) printf("cannot remove %s\n", name);
}

#define WAY(text, ...) do { __VA_ARGS__; check(text, name); } while (0)

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd < 0) printf("cannot make %s: %s\n", path, strerror(errno));
	close(fd);
}

static void bind_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(address.sun_path, path, sizeof address.sun_path - 1);
	bind(fd, (struct sockaddr *)&address, sizeof address);
	close(fd);
}

static void in_child(void (*work)(const char *), const char *name)
{
	pid_t pid = fork();
	if (pid == 0) {
		work(name);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

#if defined(__x86_64__)
static void old_table(const char *name)
{
	/* mkdir of the 32-bit table needs a pointer in the lower 4 GB. */
	static char low[64];
	strcpy(low, name);
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(39), "b"((unsigned)(unsigned long)low), "c"(0755) : "memory");
}
static void x32_table(const char *name)
{
	syscall(0x40000000 + 83, name, 0755);
}
#endif

static void undumpable(const char *name)
{
	prctl(PR_SET_DUMPABLE, 0);
	mkdir(name, 0755);
}

static void *own_directory(void *name)
{
	unshare(CLONE_FS | CLONE_FILES);
	if (chdir(strncmp(name, "sub/", 4) == 0 ? "sub" : ".") == 0) mkdir(strncmp(name, "sub/", 4) == 0 ? (char *)name + 4 : name, 0755);
	return NULL;
}

static void all_ways(const char *name)
{
	char path[9000], directory[4096] = ".", last[64];
	const char *slash = strrchr(name, '/');
	if (slash != NULL) snprintf(directory, sizeof directory, "%.*s", (int)(slash - name), name);
	strcpy(last, slash == NULL ? name : slash + 1);
	int dirfd = open(directory, O_RDONLY | O_DIRECTORY), pathfd = open(directory, O_PATH);
	int flags[] = { O_CREAT, O_CREAT | O_WRONLY, O_CREAT | O_RDWR | O_TRUNC, O_CREAT | O_EXCL | O_WRONLY, O_CREAT | O_NOFOLLOW | O_WRONLY, O_CREAT | O_APPEND | O_WRONLY, O_CREAT | 3 };
	for (unsigned at = 0; at < sizeof flags / sizeof *flags; at++) {
		WAY("open", close(open(name, flags[at], 0644)));
		WAY("openat", close(openat(dirfd, last, flags[at], 0644)));
		WAY("openat of an O_PATH directory", close(openat(pathfd, last, flags[at], 0644)));
		WAY("open with bits above 32", close(syscall(SYS_openat, AT_FDCWD, name, 0xffffffff00000000UL | (unsigned)flags[at], 0644)));
	}
	WAY("creat", close(creat(name, 0644)));
	WAY("open as a directory", close(open(name, O_CREAT | O_DIRECTORY | O_RDONLY, 0755)));
	struct { unsigned long flags, mode, resolve; } how = { O_CREAT | O_WRONLY, 0644, 0 };
	WAY("openat2", close(syscall(437, AT_FDCWD, name, &how, sizeof how)));
	WAY("mkdir", mkdir(name, 0755));
	WAY("mkdirat", mkdirat(dirfd, last, 0755));
	WAY("mknod of a FIFO", mknod(name, S_IFIFO | 0644, 0));
	WAY("mknod of a file", mknodat(dirfd, last, S_IFREG | 0644, 0));
	WAY("symlink", (void)!symlink("a", name));
	WAY("symlinkat", (void)!symlinkat("a", dirfd, last));
	make_file("a");
	WAY("link", (void)!link("a", name));
	WAY("linkat", (void)!linkat(AT_FDCWD, "a", dirfd, last, 0));
	WAY("linkat with AT_SYMLINK_FOLLOW", (void)!linkat(AT_FDCWD, "a", AT_FDCWD, name, AT_SYMLINK_FOLLOW));
	int nameless = open(".", O_TMPFILE | O_RDWR, 0644), file = open("a", O_RDONLY);
	snprintf(path, sizeof path, "/proc/self/fd/%d", nameless);
	WAY("O_TMPFILE and linkat", (void)!linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
	WAY("O_TMPFILE and AT_EMPTY_PATH", (void)!linkat(nameless, "", AT_FDCWD, name, AT_EMPTY_PATH));
	WAY("linkat of a descriptor", (void)!linkat(file, "", dirfd, last, AT_EMPTY_PATH));
	close(nameless), close(file);
	WAY("rename of a file", rename("a", name));
	mkdir("d", 0755), mkdir("d/objects", 0755), mkdir("other", 0755);
	WAY("rename of a directory", rename("d", name));
	WAY("renameat", renameat(AT_FDCWD, "d", dirfd, last));
	WAY("renameat2 without replacing", (void)syscall(SYS_renameat2, AT_FDCWD, "d", dirfd, last, 1));
	WAY("renameat2 with an exchange", (void)syscall(SYS_renameat2, AT_FDCWD, "d", dirfd, last, 2));
	WAY("renameat2 with an exchange backwards", (void)syscall(SYS_renameat2, dirfd, last, AT_FDCWD, "d", 2));
	WAY("renameat2 with a whiteout", (void)syscall(SYS_renameat2, AT_FDCWD, "d", dirfd, last, 4));
	if (chdir("d") == 0) {
		snprintf(path, sizeof path, "%s/%s", workspace, name);
		WAY("rename of the current directory", rename("../d", path); if (chdir(workspace) != 0) abort());
		if (chdir("d") == 0) {
			snprintf(path, sizeof path, "../%s", name);
			WAY("mkdir from below", mkdir(path, 0755); if (chdir(workspace) != 0) abort());
		}
	}
	snprintf(path, sizeof path, "%s/%s", free_directory, "moved");
	mkdir(path, 0755);
	WAY("rename from another place", rename(path, name));
	WAY("bind", bind_to(name));
	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dirfd, last);
	WAY("bind through a descriptor", bind_to(path));
	WAY("mkdir through a descriptor", mkdir(path, 0755));
	WAY("open through a descriptor", close(open(path, O_CREAT | O_WRONLY, 0644)));
	snprintf(path, sizeof path, "/proc/thread-self/cwd/%s", name);
	WAY("mkdir through the current directory", mkdir(path, 0755));
	snprintf(path, sizeof path, "/proc/self/root%s/%s", workspace, name);
	WAY("open through the root", close(open(path, O_CREAT | O_WRONLY, 0644)));
	snprintf(path, sizeof path, "/proc/1/cwd%s/%s", workspace, name);
	WAY("mkdir through the guard's directory", mkdir(path, 0755));
	snprintf(path, sizeof path, "/proc/%d/task/%d/cwd/%s", getpid(), getpid(), name);
	WAY("rename through a thread's directory", rename("d", path));
	snprintf(path, sizeof path, "sub/..//./%s", name);
	WAY("dots", mkdir(path, 0755));
	snprintf(path, sizeof path, "%s///", name);
	WAY("slashes at the end", mkdir(path, 0755));
	WAY("rename to slashes", rename("d", path));
	snprintf(path, sizeof path, "%s/objects", name);
	WAY("a directory below", mkdir(path, 0755));
	unlink("link"), unlink("second");
	if (symlink(name, "link") != 0) puts("cannot link");
	WAY("open of a link", close(open("link", O_CREAT | O_WRONLY, 0644)));
	if (symlink("link", "second") != 0) puts("cannot link");
	WAY("open of a link to a link", close(open("second", O_CREAT | O_RDWR, 0644)));
	unlink("link"), unlink("second");
	snprintf(path, sizeof path, "%s/%s", workspace, name);
	if (symlink(path, "link") != 0) puts("cannot link");
	WAY("open of an absolute link", close(open("link", O_CREAT | O_WRONLY, 0644)));
	unlink("link");
	snprintf(path, sizeof path, "%s/link", free_directory);
	unlink(path);
	if (symlink(workspace, path) != 0) puts("cannot link");
	snprintf(path, sizeof path, "%s/link/%s", free_directory, name);
	WAY("a linked directory elsewhere", mkdir(path, 0755));
	WAY("open in a linked directory elsewhere", close(open(path, O_CREAT | O_WRONLY, 0644)));
	WAY("a process that cannot be traced", in_child(undumpable, name));
	pthread_t thread;
	WAY("a thread with a directory of its own", if (pthread_create(&thread, NULL, own_directory, (void *)name) == 0) pthread_join(thread, NULL));
#if defined(__x86_64__)
	WAY("the 32-bit table", in_child(old_table, name));
	WAY("the x32 table", in_child(x32_table, name));
#endif
	WAY("io_uring", if (syscall(425, 8, calloc(1, 512)) >= 0) puts("io_uring works"));
	pid_t pid = vfork();
	if (pid == 0) {
		mkdir(name, 0755);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	check("vfork", name);
	close(dirfd), close(pathfd);
}

/* ---- What would be the end of the guard ---- */

static void report(const char *what, int happened)
{
	tried++;
	if (happened) printf("reached the guard: %s\n", what);
}

static void reach_guard(void)
{
	static volatile char own[16] = "own memory";
	char path[64], read_back[16] = "";
	const char *places[] = { "/proc/1/mem", "/proc/1/fd/3", "/proc/1/fd/4", "/proc/1/fd/5", "/proc/1/fd/6", "/proc/1/environ", "/proc/1/task/1/mem",
		"/proc/self/../1/mem", "/proc/self/root/proc/1/mem", "/proc/self/cwd/../../../../../../../../proc/1/mem", "/proc/1/root/proc/1/mem", "/proc/1/comm", "/proc/1/oom_score_adj" };
	int flags[] = { O_RDWR, O_WRONLY, O_CREAT | O_RDWR, O_CREAT | O_RDONLY };
	for (unsigned at = 0; at < sizeof places / sizeof *places; at++)
		for (unsigned way = 0; way < sizeof flags / sizeof *flags; way++) {
			int fd = open(places[at], flags[way], 0644);
			report(places[at], fd >= 0);
			close(fd);
			unlink("link");
			if (symlink(places[at], "link") != 0) puts("cannot link");
			fd = open("link", flags[way], 0644);
			report(places[at], fd >= 0);
			close(fd);
		}
	unlink("link");
	int dirfd = open("/proc/1", O_RDONLY), fd = openat(dirfd, "mem", O_CREAT | O_RDWR);
	report("mem in an open /proc/1", fd >= 0);
	if (chdir("/proc/1") == 0) report("mem in the current directory", open("mem", O_CREAT | O_RDWR) >= 0);
	if (chdir("/proc/1/task/1") == 0) report("mem in the current directory of a task", open("mem", O_CREAT | O_RDWR) >= 0);
	if (chdir("/proc") == 0) report("mem below /proc", open("1/mem", O_CREAT | O_RDWR) >= 0);
	if (chdir(workspace) != 0) abort();
	/* /proc/self is the caller's own, also through a link. */
	const char *selves[] = { "/proc/self/mem", "/proc/thread-self/mem", "link" };
	if (symlink("/proc/self/mem", "link") != 0) puts("cannot link");
	for (unsigned at = 0; at < 3; at++) {
		fd = open(selves[at], O_CREAT | O_RDWR, 0644);
		report("/proc/self is another process", fd < 0 || pread(fd, read_back, 11, (off_t)(unsigned long)own) != 11 || strcmp(read_back, "own memory") != 0);
		close(fd);
	}
	unlink("link");
	report("ptrace", ptrace(PTRACE_ATTACH, 1, 0, 0) == 0);
	report("PTRACE_SEIZE", ptrace(PTRACE_SEIZE, 1, 0, 0) == 0);
	struct iovec local = { read_back, 1 }, remote = { (void *)0x400000, 1 };
	report("process_vm_readv", process_vm_readv(1, &local, 1, &remote, 1, 0) > 0);
	report("process_vm_writev", process_vm_writev(1, &local, 1, &remote, 1, 0) > 0);
	int pidfd = (int)syscall(434, 1, 0);
	for (int number = 0; number < 8; number++) report("pidfd_getfd", pidfd >= 0 && syscall(438, pidfd, number, 0) >= 0);
	kill(1, SIGKILL), kill(1, SIGSTOP), kill(1, SIGTERM);
	snprintf(path, sizeof path, "alive");
	report("the guard was stopped", mkdir(path, 0755) != 0);
	rmdir(path);
}

/* ---- Threads that change what others use ---- */

static char flipped[64] = "okay";
static volatile int over;

static void *flip(void *unused)
{
	(void)unused;
	while (!over) {
		memcpy(flipped, ".git", 5);
		__asm__ volatile("" : : : "memory");
		memcpy(flipped, "okay", 5);
		__asm__ volatile("" : : : "memory");
	}
	return NULL;
}

static void *swap_links(void *unused)
{
	(void)unused;
	while (!over) syscall(SYS_renameat2, AT_FDCWD, "here", AT_FDCWD, "there", 2);
	return NULL;
}

static void race(int rounds)
{
	pthread_t threads[2];
	int okay = 0, refused = 0;
	unlink("here"), unlink("there");
	if (symlink(".", "here") != 0 || symlink(free_directory, "there") != 0) puts("cannot link");
	pthread_create(&threads[0], NULL, flip, NULL);
	pthread_create(&threads[1], NULL, swap_links, NULL);
	for (int round = 0; round < rounds; round++) {
		int fd, result;
		char source[] = "source";
		make_file(source);
		fd = open(flipped, O_CREAT | O_WRONLY, 0644);
		if (fd >= 0) okay++, close(fd); else refused++;
		unlink("okay");
		result = mkdir(flipped, 0755);
		if (result == 0) okay++; else refused++;
		rmdir("okay");
		if (symlink("a", flipped) == 0) okay++; else refused++;
		unlink("okay");
		if (rename(source, flipped) == 0) okay++; else refused++;
		unlink("okay");
		bind_to(flipped);
		unlink("okay");
		mkdir("here/.git", 0755);
		mkdir("there/.git", 0755);
		fd = open("here/.git", O_CREAT | O_WRONLY, 0644);
		close(fd);
		char there[5000];
		snprintf(there, sizeof there, "%s/.git", free_directory);
		if (unlink(there) != 0) rmdir(there);
		tried += 8;
		if (exists(".git")) {
			printf("made .git in round %d\n", round);
			break;
		}
	}
	over = 1;
	for (int at = 0; at < 2; at++) pthread_join(threads[at], NULL);
	unlink("here"), unlink("there");
	if (okay == 0 || refused == 0) printf("no race: %d made, %d refused\n", okay, refused);
}

int main(int argc, char **argv)
{
	if (argc < 3 || (strcmp(argv[1], "race") == 0 && argc < 4) || getcwd(workspace, sizeof workspace) == NULL) return 2;
	strcpy(free_directory, argv[2]);
	mkdir("sub", 0755), mkdir("deep", 0755), mkdir("deep/er", 0755);
	if (strcmp(argv[1], "race") == 0) race(atoi(argv[3]));
	else {
		for (unsigned at = 0; at < sizeof names / sizeof *names; at++) all_ways(names[at]);
		reach_guard();
	}
	printf("tried %d\ndone\n", tried);
	return 0;
}

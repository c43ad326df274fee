/*
 * The guard: the first program (pid 1) inside a sandbox. It starts the command and decides about every name that the command, or
 * anything it starts, wants to make or open for writing. A mount can only protect a file that exists; the guard protects names
 * that do not exist.
 *
 *   guard [--report FD] [--git DIRECTORY]... [--name DIRECTORY NAME]... -- /absolute/program [argument]...
 *
 *   --name  NAME in DIRECTORY, and everything below it, cannot be made, moved, linked or opened for writing, and no directory
 *           above it can be moved.
 *   --git   The same for `.git` in every directory at or below DIRECTORY.
 *   --report  Each refused path is written to this descriptor, followed by a NUL byte.
 *
 * Without namespaces, the guard confines itself and the command with Landlock and a wider seccomp filter before it starts the
 * command. See "Without namespaces" below.
 *
 *   guard --confine [--read PATH]... [--write PATH]... [--open PATH]... [--deny PATH]... [--report-to FILE] [--proxy PORT] [the rules above] -- /program [argument]...
 *
 *   --read   What can be read and executed. Nothing else can, except --write.
 *   --write  What can be read, executed and changed.
 *   --open   A directory whose content can be changed although its own name is protected: a git directory for a git command.
 *   --deny   A file or directory in those that cannot be opened, or a socket that cannot be connected to.
 *   --report-to  Like --report, to the end of a file.
 *   --proxy  The port of 127.0.0.1 that the command can connect to; nothing else is reachable over TCP.
 *
 *   guard --landlock-abi   Prints the version of Landlock of this kernel, 0 for none.
 *
 * What a mount of the sandbox covers is left to the kernel: an existing `.git` that was mounted read-only fails as read-only, and
 * one that was mounted writable (for an approved git command) can be written to.
 *
 * How it works. The command runs under a seccomp filter. The kernel stops the calls that `filter` names and hands them to the guard
 * (seccomp user notification). The guard copies the arguments once, performs the call itself, and answers with the result. It
 * never tells the kernel to continue a call that it judged, so a command that changes a path in its memory after the guard read it gains nothing.
 *
 * Rules that this file must keep:
 *   1. No call is continued (SECCOMP_USER_NOTIF_FLAG_CONTINUE) whose arguments the guard judges. Continued are calls that create
 *      processes, which are counted, and opens for reading that Landlock alone judges.
 *   2. A name is judged together with the descriptor of its directory, and used together with that same descriptor. No path of
 *      the command is resolved a second time after it was judged.
 *   3. The guard follows no magic link in /proc on behalf of a command unless it has checked that the link does not belong to the
 *      guard itself: /proc/self, /proc/1/fd/3 or /proc/1/mem would otherwise hand the guard's descriptors and memory to the command.
 *   4. The guard never blocks on behalf of a command: an open that can block (a FIFO) is done by a forked worker.
 *   5. The guard is not dumpable: no process with its user number can trace it, read its memory or use its /proc/1/fd.
 *
 * It ends with the command: as pid 1, its end ends every process in the sandbox. As pid 1 it also cannot be killed from inside. If it
 * were killed from outside, calls that wait for it fail with ENOSYS.
 *
 * There is no libc and no dynamic memory. The guard needs Linux 5.19 (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: without it, a signal
 * could make a process repeat a call that was already performed).
 */
#include <asm/errno.h>
#include <asm/fcntl.h>
#include <asm/ioctls.h>
#include <asm/poll.h>
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <linux/stat.h>
#include <linux/types.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
/* Linux 6.6: the guard and the process it answers run on one processor, which halves the cost of a call. */
#define IOCTL_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SYNC_WAKE_UP 1UL

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_SYMLINK_FOLLOW 0x400
#define AT_NO_AUTOMOUNT 0x800
#define AT_EMPTY_PATH 0x1000
#define AT_REMOVEDIR 0x200
#define AF_UNIX 1
#define AF_INET 2
#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
#define SOL_SOCKET 1
#define SO_DOMAIN 39
#define NR_FCHMODAT2 452
#define RENAME_EXCHANGE 2
#define PATH_MAX 4096
#define NAME_MAX 255
#define PROC_SUPER_MAGIC 0x9fa0
#define WNOHANG 1
/* Known to the kernel only: the interrupted call is repeated, or fails with EINTR, as the signal's handler says. */
#define ERESTARTSYS 512
/* The answer to a call that the kernel performs itself (rule 1). */
#define GO_ON (-200000L)

typedef unsigned long ulong;

/* ---- System calls ------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall start\n\thlt\n");
__asm__("return_from_handler:\n\tmov $15, %eax\n\tsyscall\n");
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n\tbl start\n\tbrk #0\n");
__asm__("return_from_handler:\n\tmov x8, #139\n\tsvc 0\n");
#else
#error "The guard is written for x86_64 and aarch64."
#endif

#define CALL_N(n, a, b, c, d, e, f, ...) call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* CALL(name, arguments...): the result, or a negative error number. */
#define CALL(name, ...) CALL_N(__NR_##name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* ---- Memory and text ---------------------------------------------------------------------------------------------------- */

/* The compiler calls these two by name. */
void *memset(void *to, int byte, ulong size)
{
	volatile char *at = to;
	while (size-- > 0) *at++ = (char)byte;
	return to;
}

void *memcpy(void *to, const void *from, ulong size)
{
	volatile char *at = to;
	const char *source = from;
	while (size-- > 0) *at++ = *source++;
	return to;
}

static ulong length(const char *text)
{
	ulong size = 0;
	while (text[size] != 0) size++;
	return size;
}

static int equal(const char *a, const char *b)
{
	while (*a != 0 && *a == *b) a++, b++;
	return *a == *b;
}

static int starts_with(const char *text, const char *start)
{
	while (*start != 0) if (*text++ != *start++) return 0;
	return 1;
}

/* Whether a path leads through a name, or ends in it. */
static int has_name(const char *path, const char *name)
{
	for (ulong size = length(name); *path != 0; path++)
		if (*path == '/' && starts_with(path + 1, name) && (path[1 + size] == '/' || path[1 + size] == 0)) return 1;
	return 0;
}

/* Appends to a text of at most `room` bytes with its NUL. Returns 0 when it does not fit. */
static int append(char *text, ulong room, const char *more)
{
	ulong at = length(text), size = length(more);
	if (at + size >= room) return 0;
	memcpy(text + at, more, size + 1);
	return 1;
}

static void append_number(char *text, ulong room, ulong number)
{
	char digits[24];
	int at = 23;
	digits[at] = 0;
	do digits[--at] = (char)('0' + number % 10); while ((number /= 10) != 0);
	append(text, room, digits + at);
}

/* A decimal number up to the first other character; -1 when there is none. */
static long number_of(const char *text)
{
	long number = 0;
	if (*text < '0' || *text > '9') return -1;
	while (*text >= '0' && *text <= '9' && number < 1000000000) number = number * 10 + (*text++ - '0');
	return number;
}

__attribute__((noreturn)) static void leave(int status)
{
	for (;;) CALL(exit_group, status);
}

__attribute__((noreturn)) static void fail(const char *why, const char *detail)
{
	char text[512] = "capstan guard: ";
	append(text, sizeof text, why);
	append(text, sizeof text, detail);
	append(text, sizeof text, "\n");
	CALL(write, 2, text, length(text));
	leave(125);
}

/* ---- Rules -------------------------------------------------------------------------------------------------------------- */

#define MAX_RULES 4096
#define MAX_MOUNTS 4096

struct rule {
	const char *directory, *name;
	__u32 major, minor;
	__u64 inode;
};

/* A mount never moves while the sandbox exists: nothing inside can mount. */
struct mount {
	__u64 id;
	const char *path;
	char has_rules, is_proc;
};

static struct rule rules[MAX_RULES];
static int rule_count;
static const char *git_roots[MAX_RULES];
static int git_root_count;
static struct mount mounts[MAX_MOUNTS];
static int mount_count;
static char mount_text[1 << 20];

/* Without namespaces: see there. */
static int confines, proxy_port;
/* The most tasks (processes and threads) that the command can have; 0: as many as the kernel allows. */
static long max_tasks;
static const char *readable[MAX_RULES], *writable[MAX_RULES], *denied[MAX_RULES];
static int readable_count, writable_count, denied_count, opened_count;
static const char *opened_directories[MAX_RULES];
static struct { __u32 major, minor; __u64 inode; } denied_files[MAX_RULES];

static int report_fd = -1;
static int listener, proc_fd, root_fd;
static long own_pid;
static __u32 proc_major, proc_minor;

static long stat_at(int directory, const char *name, struct statx *stat)
{
	int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	return CALL(statx, directory, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, stat);
}

static int is_inside(const char *directory, const char *path)
{
	ulong size = length(directory);
	if (size == 1) return 1;
	return starts_with(path, directory) && (path[size] == 0 || path[size] == '/');
}

/*
 * Writes a name as a file system that ignores case would compare it: ASCII in lower case, the other letters that fold to ASCII as
 * those, no further bytes beyond ASCII (some file systems ignore invisible characters) and no dots or spaces at the end. So a few
 * harmless names count as protected too, on file systems that do tell them apart.
 */
static void fold(const char *name, char *out, ulong room)
{
	static const struct { const char *letters, *as; } folded[] = {
		{ "\xc5\xbf", "s" }, { "\xe2\x84\xaa", "k" }, { "\xc3\x9f", "ss" }, { "\xe1\xba\x9e", "ss" },
		{ "\xef\xac\x80", "ff" }, { "\xef\xac\x81", "fi" }, { "\xef\xac\x82", "fl" }, { "\xef\xac\x83", "ffi" },
		{ "\xef\xac\x84", "ffl" }, { "\xef\xac\x85", "st" }, { "\xef\xac\x86", "st" },
	};
	ulong size = 0;
	while (*name != 0 && *name != '/' && size + 4 < room) {
		ulong at;
		for (at = 0; at < sizeof folded / sizeof *folded; at++) if (starts_with(name, folded[at].letters)) break;
		if (at < sizeof folded / sizeof *folded) {
			out[size] = 0;
			append(out, room, folded[at].as);
			size = length(out);
			name += length(folded[at].letters);
			continue;
		}
		char letter = *name++;
		if (letter >= 'A' && letter <= 'Z') letter = (char)(letter + 32);
		/* Not `letter > 0`: on arm64 a char has no sign. */
		if (((unsigned char)letter & 0x80) == 0) out[size++] = letter;
	}
	while (size > 0 && (out[size - 1] == '.' || out[size - 1] == ' ')) size--;
	out[size] = 0;
}

/* Compares the first component of `name` with the name of a rule. */
static int same_name(const char *name, const char *protected_name)
{
	char a[NAME_MAX + 8], b[NAME_MAX + 8];
	fold(name, a, sizeof a);
	fold(protected_name, b, sizeof b);
	return equal(a, b);
}

static void read_mounts(void)
{
	ulong size = 0;
	long fd = CALL(openat, proc_fd, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	for (long got = 1; got > 0; size += (ulong)got) {
		got = CALL(read, fd, mount_text + size, sizeof mount_text - 1 - size);
		if (got < 0 || size + (ulong)got == sizeof mount_text - 1) fail("the mounts cannot be read", "");
	}
	CALL(close, fd);
	mount_text[size] = 0;
	/* 36 35 98:0 /root /mount/point options ...: octal escapes in paths. */
	for (char *at = mount_text; *at != 0;) {
		char *end = at;
		while (*end != '\n' && *end != 0) end++;
		char *next = *end == 0 ? end : end + 1;
		*end = 0;
		long id = number_of(at);
		for (int field = 0; field < 4; field++) {
			while (*at != ' ' && *at != 0) at++;
			if (*at == ' ') at++;
		}
		char *path = at, *out = at;
		while (*at != ' ' && *at != 0) {
			if (*at == '\\' && at[1] != 0 && at[2] != 0 && at[3] != 0) {
				*out++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
				at += 4;
			} else *out++ = *at++;
		}
		/* The type of the file system follows a lone dash. */
		while (*at != 0 && !starts_with(at, " - ")) at++;
		*out = 0;
		if (id < 0 || mount_count == MAX_MOUNTS) fail("there are too many mounts", "");
		struct mount *mount = &mounts[mount_count++];
		mount->id = (__u64)id;
		mount->path = path;
		mount->is_proc = starts_with(at, " - proc ");
		for (int root = 0; root < git_root_count; root++)
			if (is_inside(git_roots[root], path) || is_inside(path, git_roots[root])) mount->has_rules = 1;
		at = next;
	}
}

static void read_rules(void)
{
	for (int at = 0; at < rule_count; at++) {
		struct rule *rule = &rules[at];
		struct statx stat;
		long fd = CALL(openat, AT_FDCWD, rule->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || stat_at((int)fd, "", &stat) < 0) fail("there is no directory ", rule->directory);
		CALL(close, fd);
		rule->major = stat.stx_dev_major;
		rule->minor = stat.stx_dev_minor;
		rule->inode = stat.stx_ino;
		for (int mount = 0; mount < mount_count; mount++)
			if (mounts[mount].id == stat.stx_mnt_id) mounts[mount].has_rules = 1;
	}
}

/* ---- A call that waits for an answer ------------------------------------------------------------------------------------- */

/* What is known of the thread that made a call. `tid` and `tgid` are numbers in the sandbox. */
struct caller {
	__u64 id;
	long tid, tgid, umask;
	char pending_signal;
};

/* A name in a directory, as a path of a caller gave it. */
struct place {
	int directory;
	struct statx stat;
	char name[NAME_MAX + 1];
	/* The path ends in a slash. */
	char slash;
	/* The path ends in `.`, `..` or is `/`: `directory` is the directory itself, and there is no name. */
	char dots;
	/* `directory` is in /proc. */
	char proc;
	/* The path leads through /proc. */
	char walked;
};

#define MAX_WORKERS 64
static struct { long pid; struct caller caller; } workers[MAX_WORKERS];
static int worker_count;

static void close_place(struct place *place)
{
	if (place->directory >= 0) CALL(close, place->directory);
	place->directory = -1;
}

static void proc_path(char *path, ulong room, long pid, const char *rest)
{
	path[0] = 0;
	append_number(path, room, (ulong)pid);
	append(path, room, "/");
	append(path, room, rest);
}

/* Reads the path of an own descriptor in the sandbox. Fails for what has no path there. */
static long path_of(int fd, char *path)
{
	char link[32] = "self/fd/";
	append_number(link, sizeof link, (ulong)fd);
	long size = CALL(readlinkat, proc_fd, link, path, PATH_MAX - 1);
	if (size < 0) return size;
	path[size] = 0;
	return path[0] == '/' ? size : -EACCES;
}

/* A path that leads the guard itself to what an own descriptor refers to. */
static void own_fd_path(char *path, ulong room, int fd)
{
	path[0] = 0;
	append(path, room, "/proc/self/fd/");
	append_number(path, room, (ulong)fd);
}

/* The value after a field name in /proc/PID/status. */
static const char *field_of(const char *text, const char *name)
{
	for (; *text != 0; text++) {
		if (!starts_with(text, name)) {
			while (*text != '\n' && text[1] != 0) text++;
			continue;
		}
		text += length(name);
		while (*text == '\t' || *text == ' ') text++;
		return text;
	}
	return "";
}

static ulong number_in_base(const char *text, unsigned base)
{
	ulong number = 0;
	for (;; text++) {
		unsigned digit = *text >= '0' && *text <= '9' ? (unsigned)(*text - '0')
			: *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10) : base;
		if (digit >= base) return number;
		number = number * base + digit;
	}
}

/* Reads what only /proc knows of a caller; once for each call that needs it. */
static long know(struct caller *caller)
{
	static char text[8192];
	/* Open files of the last callers. One that belongs to a thread that ended can no longer be read, also when its number was used
	 * again. */
	static struct { long tid, fd; } opened[16];
	static unsigned oldest;
	char path[64];
	long size = -ESRCH;
	if (caller->tgid != 0) return 0;
	for (unsigned at = 0; at < 16 && size <= 0; at++)
		if (opened[at].tid == caller->tid) {
			size = CALL(pread64, opened[at].fd, text, sizeof text - 1, 0);
			if (size > 0) break;
			CALL(close, opened[at].fd);
			opened[at].tid = 0;
		}
	if (size <= 0) {
		proc_path(path, sizeof path, caller->tid, "status");
		long fd = CALL(openat, proc_fd, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) return -ESRCH;
		size = CALL(pread64, fd, text, sizeof text - 1, 0);
		unsigned at = oldest++ % 16;
		if (opened[at].tid != 0) CALL(close, opened[at].fd);
		opened[at].tid = caller->tid;
		opened[at].fd = fd;
	}
	if (size <= 0) return -ESRCH;
	text[size] = 0;
	long tgid = number_of(field_of(text, "Tgid:"));
	const char *umask = field_of(text, "Umask:");
	if (tgid <= 0 || *umask == 0) return -ESRCH;
	caller->umask = (long)number_in_base(umask, 8);
	ulong waiting = number_in_base(field_of(text, "SigPnd:"), 16) | number_in_base(field_of(text, "ShdPnd:"), 16);
	caller->pending_signal = (waiting & ~number_in_base(field_of(text, "SigBlk:"), 16)) != 0;
	caller->tgid = tgid;
	return 0;
}

static long take_umask(struct caller *caller)
{
	long error = know(caller);
	if (error == 0) CALL(umask, caller->umask);
	return error;
}

/* The caller still waits: its number was not given to another process meanwhile. */
static int is_waiting(const struct caller *caller)
{
	return CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &caller->id) == 0;
}

struct span { void *base; ulong size; };

static long read_memory(const struct caller *caller, void *to, ulong from, ulong size)
{
	struct span local = { to, size }, remote = { (void *)from, size };
	return CALL(process_vm_readv, caller->tid, &local, 1, &remote, 1, 0);
}

/* On arm64, the top byte of a pointer can be a tag. */
static ulong untagged(ulong address)
{
#if defined(__aarch64__)
	address &= 0x00ffffffffffffffUL;
#endif
	return address;
}

/* Copies a path, page by page: what follows it in memory may not be readable. Returns its length. */
static long read_path(const struct caller *caller, char *path, ulong from)
{
	ulong size = 0;
	from = untagged(from);
	while (size < PATH_MAX) {
		ulong part = 4096 - ((from + size) & 4095);
		if (part > PATH_MAX - size) part = PATH_MAX - size;
		long got = read_memory(caller, path + size, from + size, part);
		if (got < 0) return got == -EPERM ? -EPERM : got == -ESRCH ? -ESRCH : -EFAULT;
		for (ulong end = size + (ulong)got; size < end; size++) if (path[size] == 0) return (long)size;
		if ((ulong)got < part) return -EFAULT;
	}
	return -ENAMETOOLONG;
}

static long answer(const struct caller *caller, long result)
{
	struct seccomp_notif_resp response = { .id = caller->id };
	if (result == GO_ON) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0) response.error = (__s32)result;
	else response.val = result;
	return CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Gives an own descriptor to the caller and closes it, before the caller runs on: nobody else has the file open then. */
static long hand_over(const struct caller *caller, long fd, ulong flags)
{
	struct seccomp_notif_addfd addition = {
		.id = caller->id, .srcfd = (__u32)fd, .newfd_flags = (__u32)(flags & O_CLOEXEC),
	};
	if (fd < 0) return fd;
	long result = CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
	CALL(close, fd);
	return result;
}

/* ---- From paths to places ------------------------------------------------------------------------------------------------- */

static const struct mount *mount_of(const struct statx *stat)
{
	for (int at = 0; at < mount_count; at++) if (mounts[at].id == stat->stx_mnt_id) return &mounts[at];
	return 0;
}

static int is_proc(int fd, const struct statx *stat)
{
	long system[64];
	const struct mount *mount = mount_of(stat);
	if (mount != 0) return mount->is_proc;
	return CALL(fstatfs, fd, system) < 0 || system[0] == PROC_SUPER_MAGIC;
}

/* The parent of a process; 0 when it is gone. */
static long parent_of(long pid)
{
	char path[64], text[512];
	proc_path(path, sizeof path, pid, "stat");
	long fd = CALL(openat, proc_fd, path, O_RDONLY | O_CLOEXEC);
	long size = fd < 0 ? fd : CALL(read, fd, text, sizeof text - 1);
	if (fd >= 0) CALL(close, fd);
	if (size <= 0) return 0;
	text[size] = 0;
	/* 12 (name) S 1 ...: the name can hold anything, so the last parenthesis counts. */
	long end = size;
	while (end > 0 && text[end - 1] != ')') end--;
	return end > 0 && end + 3 < size ? number_of(text + end + 3) : 0;
}

/* Whether a process was started by the command. What loses its parent becomes a child of the guard. */
static int is_descendant(long pid)
{
	for (int steps = 0; pid > 1 && steps < 10000; steps++) {
		pid = parent_of(pid);
		if (pid == own_pid) return 1;
	}
	return 0;
}

/* Whether a directory in /proc can be used for a command: not one of the guard or its workers, nor of another /proc (rule 3). */
static int is_usable_proc(int fd, char *path)
{
	struct statx stat;
	if (stat_at(fd, "", &stat) < 0 || path_of(fd, path) < 0 || !is_inside("/proc", path)) return 0;
	/* What a sandbox mounts over parts of /proc has no links. */
	if (stat.stx_dev_major != proc_major || stat.stx_dev_minor != proc_minor)
		return !starts_with(path, "/proc/") || number_of(path + 6) < 0;
	long pid = path[5] == '/' ? number_of(path + 6) : -1;
	if (pid == own_pid) return 0;
	for (int at = 0; at < worker_count; at++) if (workers[at].pid == pid) return 0;
	return pid < 0 || !confines || is_descendant(pid);
}

/* Where a relative path of the caller begins. */
static long base_of(const struct caller *caller, long directory)
{
	char path[64], number[32] = "fd/";
	if ((int)directory == AT_FDCWD) proc_path(path, sizeof path, caller->tid, "cwd");
	else {
		if ((int)directory < 0) return -EBADF;
		append_number(number, sizeof number, (ulong)(int)directory);
		proc_path(path, sizeof path, caller->tid, number);
	}
	long fd = CALL(openat, proc_fd, path, O_PATH | O_CLOEXEC);
	return fd == -ENOENT && (int)directory != AT_FDCWD ? -EBADF : fd;
}

/*
 * Resolves a path to a directory step by step, as the caller would: `/proc/self` is the caller's. Only for paths that lead through
 * /proc. Each step opens one name without following links; a link in /proc is followed only in directories that can be used.
 */
static long walk(struct caller *caller, int base, const char *path)
{
	static char rest[PATH_MAX], next[PATH_MAX], where[PATH_MAX];
	char step[NAME_MAX + 1];
	int links = 0;
	long at = CALL(openat, path[0] == '/' ? root_fd : base, ".", O_PATH | O_CLOEXEC);
	rest[0] = 0;
	if (!append(rest, PATH_MAX, path)) return -ENAMETOOLONG;
	while (at >= 0) {
		char *from = rest;
		ulong size = 0;
		while (*from == '/') from++;
		while (from[size] != 0 && from[size] != '/') size++;
		if (size == 0) break;
		if (size > NAME_MAX) { CALL(close, at); return -ENAMETOOLONG; }
		memcpy(step, from, size);
		step[size] = 0;
		from += size;
		struct statx stat;
		int proc = stat_at((int)at, "", &stat) < 0 || is_proc((int)at, &stat), at_top = 0;
		if (proc && !is_usable_proc((int)at, where)) { CALL(close, at); return -EACCES; }
		if (proc) at_top = equal(where, "/proc");
		next[0] = 0;
		long found;
		if (at_top && (equal(step, "self") || equal(step, "thread-self"))) {
			long error = know(caller);
			if (error < 0) { CALL(close, at); return error; }
			append_number(next, PATH_MAX, (ulong)caller->tgid);
			if (step[0] == 't') {
				append(next, PATH_MAX, "/task/");
				append_number(next, PATH_MAX, (ulong)caller->tid);
			}
			found = -ELOOP;
		} else {
			found = CALL(openat, at, step, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			if (found >= 0 && stat_at((int)found, "", &stat) == 0 && (stat.stx_mode & S_IFMT) == S_IFLNK) {
				if (proc && !at_top) {
					CALL(close, found);
					found = CALL(openat, at, step, O_PATH | O_CLOEXEC);
				} else {
					long text = CALL(readlinkat, found, "", next, PATH_MAX - 1);
					CALL(close, found);
					if (text < 0) { CALL(close, at); return text; }
					next[text] = 0;
					found = -ELOOP;
				}
			}
		}
		if (next[0] != 0) {
			/* A link with a text: what it says comes before the rest of the path. */
			if (++links > 40 || !append(next, PATH_MAX, "/") || !append(next, PATH_MAX, from)) {
				CALL(close, at);
				return links > 40 ? -ELOOP : -ENAMETOOLONG;
			}
			memcpy(rest, next, length(next) + 1);
			if (rest[0] != '/') continue;
			found = CALL(openat, root_fd, ".", O_PATH | O_CLOEXEC);
		} else {
			ulong left = length(from) + 1;
			for (ulong byte = 0; byte < left; byte++) rest[byte] = from[byte];
		}
		CALL(close, at);
		at = found;
	}
	if (at < 0) return at;
	struct statx stat;
	long error = stat_at((int)at, "", &stat);
	if (error == 0 && (stat.stx_mode & S_IFMT) != S_IFDIR) error = -ENOTDIR;
	if (error == 0 && is_proc((int)at, &stat) && !is_usable_proc((int)at, where)) error = -EACCES;
	if (error == 0) return at;
	CALL(close, at);
	return error;
}

/* Opens a directory that a path of the caller names. */
static long open_directory(struct caller *caller, int base, const char *path, struct place *place)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	long fd = CALL(openat2, path[0] == '/' ? root_fd : base, path, &how, sizeof how);
	place->walked = fd == -ELOOP;
	if (fd < 0 && !place->walked) return fd;
	if (fd >= 0) place->walked = stat_at((int)fd, "", &place->stat) < 0 || is_proc((int)fd, &place->stat);
	if (!place->walked) return fd;
	if (fd >= 0) CALL(close, fd);
	fd = walk(caller, base, path);
	long error = fd < 0 ? fd : stat_at((int)fd, "", &place->stat);
	if (error == 0) place->proc = (char)is_proc((int)fd, &place->stat);
	else if (fd >= 0) CALL(close, fd);
	return error < 0 ? error : fd;
}

/* Splits a path into its directory, which is opened, and its last name. Changes the text of the path. */
static long locate(struct caller *caller, int base, char *path, struct place *place)
{
	ulong size = length(path);
	place->directory = -1;
	place->slash = place->dots = place->proc = place->walked = 0;
	place->name[0] = 0;
	if (size == 0) return -ENOENT;
	while (size > 1 && path[size - 1] == '/') {
		path[--size] = 0;
		place->slash = 1;
	}
	char *name = path + size;
	while (name > path && name[-1] != '/') name--;
	long fd;
	if (*name == 0 || equal(name, ".") || equal(name, "..")) {
		place->dots = 1;
		fd = open_directory(caller, base, path, place);
	} else {
		int fits = length(name) <= NAME_MAX;
		if (fits) memcpy(place->name, name, length(name) + 1);
		*name = 0;
		fd = open_directory(caller, base, name == path ? "." : path, place);
		if (fd >= 0 && !fits) {
			CALL(close, fd);
			fd = -ENAMETOOLONG;
		}
	}
	if (fd < 0) return fd;
	place->directory = (int)fd;
	return 0;
}

/* The same for an argument of a call: a directory number and a path in the caller's memory. */
static long locate_argument(struct caller *caller, long directory, ulong address, struct place *place)
{
	static char path[PATH_MAX];
	place->directory = -1;
	long size = read_path(caller, path, address);
	if (size < 0) return size;
	if (size == 0) return -ENOENT;
	long base = path[0] == '/' ? root_fd : base_of(caller, directory);
	if (base < 0) return base;
	long error = is_waiting(caller) ? locate(caller, (int)base, path, place) : -ESRCH;
	if (base != root_fd) CALL(close, base);
	return error;
}

/* ---- The judgement --------------------------------------------------------------------------------------------------------- */

/*
 * Whether a path in the sandbox is, or is below, a protected name. Only the part of the path below its mount counts: what a mount
 * covers is the kernel's to protect.
 */
static int is_protected_path(const char *path, const struct mount *mount)
{
	const char *below = path;
	/* Without namespaces the mounts are the host's, and cover nothing. */
	if (!confines && mount != 0 && mount->path[1] != 0 && is_inside(mount->path, path)) below += length(mount->path);
	for (int at = 0; at < opened_count; at++)
		if (is_inside(opened_directories[at], path) && path + length(opened_directories[at]) > below &&
			path[length(opened_directories[at])] == '/') below = path + length(opened_directories[at]);
	for (int at = 0; at < rule_count; at++) {
		ulong size = length(rules[at].directory);
		if (is_inside(rules[at].directory, path) && path[size] == '/' && path + size >= below &&
			same_name(path + size + 1, rules[at].name)) return 1;
	}
	for (int at = 0; at < git_root_count; at++) {
		if (!is_inside(git_roots[at], path)) continue;
		for (const char *step = below; *step != 0; step++)
			if (*step == '/' && same_name(step + 1, ".git")) return 1;
	}
	return 0;
}

/* Whether something that exists is protected. */
static int is_protected_file(int fd)
{
	static char path[PATH_MAX];
	struct statx stat;
	if (stat_at(fd, "", &stat) < 0) return 1;
	const struct mount *mount = mount_of(&stat);
	/* Without a mount: a pipe or a socket, or deleted with its mount. */
	if (mount == 0 || !mount->has_rules) return 0;
	return path_of(fd, path) < 0 || is_protected_path(path, mount);
}

/* Whether a name in a directory is protected, whether it exists or not. An entry that is a mount is left to the kernel. */
static int is_protected(const struct place *place)
{
	static char path[PATH_MAX + NAME_MAX + 2];
	struct statx entry;
	const struct statx *stat = &place->stat;
	if (place->proc || place->dots) return 0;
	const struct mount *mount = mount_of(stat);
	int found = 0;
	/* By the identity of the directory, so that no other path to it helps. */
	for (int at = 0; at < rule_count && !found; at++)
		found = rules[at].inode == stat->stx_ino && rules[at].major == stat->stx_dev_major &&
			rules[at].minor == stat->stx_dev_minor && same_name(place->name, rules[at].name);
	if (!found && (mount == 0 || mount->has_rules)) {
		if (path_of(place->directory, path) < 0) return 1;
		if (!equal(path, "/")) append(path, sizeof path, "/");
		append(path, sizeof path, place->name);
		found = is_protected_path(path, mount);
	}
	if (!found || stat_at(place->directory, place->name, &entry) < 0) return found;
	return confines || entry.stx_mnt_id == stat->stx_mnt_id;
}

static int is_in_list(const char *path, const char *const *list, int count)
{
	for (int at = 0; at < count; at++) if (is_inside(list[at], path)) return 1;
	return 0;
}

/* Without namespaces: whether something that exists is outside of what the command can read, or change. What has no path, such as a
 * pipe, is not. Landlock refuses the same; chmod and the like are refused here alone. */
static int is_outside_file(int fd, int changes)
{
	static char path[PATH_MAX];
	struct statx stat;
	if (!confines) return 0;
	if (stat_at(fd, "", &stat) < 0) return 1;
	for (int at = 0; at < denied_count; at++)
		if (denied_files[at].inode == stat.stx_ino && denied_files[at].major == stat.stx_dev_major &&
			denied_files[at].minor == stat.stx_dev_minor) return 1;
	if (mount_of(&stat) == 0 && path_of(fd, path) < 0) return 0;
	if (path_of(fd, path) < 0) return (stat.stx_mode & S_IFMT) == S_IFDIR || (stat.stx_mode & S_IFMT) == S_IFREG;
	/* memfd_create */
	if (mount_of(&stat) == 0 && starts_with(path, "/memfd:")) return 0;
	if (is_in_list(path, denied, denied_count)) return 1;
	if (is_in_list(path, writable, writable_count)) return 0;
	if (changes) return 1;
	if (is_in_list(path, readable, readable_count)) return 0;
	/* Its own processes; that they are its own was checked on the way. Their network is that of the host. */
	return !(starts_with(path, "/proc/") && number_of(path + 6) > 0 && is_descendant(number_of(path + 6))) || has_name(path, "net");
}

/* The same for a name, whether it exists or not. */
static int is_outside(const struct place *place)
{
	static char path[PATH_MAX + NAME_MAX + 2];
	if (!confines) return 0;
	if (path_of(place->directory, path) < 0) return 1;
	if (!place->dots) {
		if (!equal(path, "/")) append(path, sizeof path, "/");
		append(path, sizeof path, place->name);
	}
	return is_in_list(path, denied, denied_count) || !is_in_list(path, writable, writable_count);
}

/* Whether a directory of a rule is at or below a name. Moving it would leave the rule without its place. */
static int holds_rule(const struct place *place)
{
	static char path[PATH_MAX + NAME_MAX + 2];
	if (rule_count == 0 || place->proc) return 0;
	if (path_of(place->directory, path) < 0) return 1;
	if (!equal(path, "/")) append(path, sizeof path, "/");
	append(path, sizeof path, place->name);
	for (int at = 0; at < rule_count; at++) if (is_inside(path, rules[at].directory)) return 1;
	return 0;
}

/* Tells the host which path was refused. Bounded, since the command decides how often it tries. */
static long refuse(const struct place *place)
{
	static char path[PATH_MAX + NAME_MAX + 2], last[PATH_MAX + NAME_MAX + 2];
	static int count;
	long size = path_of(place->directory, path);
	if (report_fd < 0 || size < 0 || count == 32) return -EPERM;
	if (!equal(path, "/")) append(path, sizeof path, "/");
	append(path, sizeof path, place->name);
	if (equal(path, last)) return -EPERM;
	memcpy(last, path, length(path) + 1);
	count++;
	CALL(write, report_fd, path, length(path) + 1);
	return -EPERM;
}

/* For calls that make a new name and fail where there is one already. Only a directory can be named with a slash at the end. */
static long check_new(const struct place *place, int is_directory)
{
	struct statx stat;
	if (place->dots) return -EEXIST;
	int wrong_slash = place->slash && !is_directory;
	int outside = is_outside(place);
	if (!outside && !is_protected(place) && !wrong_slash) return 0;
	if (stat_at(place->directory, place->name, &stat) == 0) return -EEXIST;
	return wrong_slash ? -ENOENT : outside ? -EACCES : refuse(place);
}

/* ---- The calls -------------------------------------------------------------------------------------------------------------- */

/* The answer comes later, from a worker. */
#define LATER (-100000L)

/* The end of a signal handler: rt_sigreturn. */
extern void return_from_handler(void);

static void on_interruption(int signal)
{
	(void)signal;
}

static void take_interruptions(int how)
{
	__u64 interruption = 1UL << (SIGUSR1 - 1);
	CALL(rt_sigprocmask, how, &interruption, 0, sizeof interruption);
}

/* The result of a worker's call is its answer. From here on nothing interrupts it: a descriptor is given in a call that waits too. */
static long end_of_wait(long result)
{
	take_interruptions(SIG_BLOCK);
	return result == -EINTR ? -ERESTARTSYS : result;
}

/*
 * Starts a process for a call that can wait, and returns 0 in it. `look_after_workers` kills the worker when its caller no longer
 * waits, and interrupts its call when a signal came for the caller. A call that has succeeded at that moment stays so: if the worker
 * of a FIFO were killed then, the other end would be open, and lose its partner.
 */
static long start_worker(const struct caller *caller)
{
	struct { void (*handler)(int); ulong flags; void (*restorer)(void); __u64 mask; } action = { 0 };
	if (worker_count == MAX_WORKERS) return -EAGAIN;
	long pid = CALL(clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		action.handler = on_interruption;
		action.flags = SA_RESTORER;
		action.restorer = return_from_handler;
		CALL(rt_sigaction, SIGUSR1, &action, 0, sizeof action.mask);
		take_interruptions(SIG_UNBLOCK);
	}
	if (pid <= 0) return pid;
	workers[worker_count].pid = pid;
	workers[worker_count++].caller = *caller;
	return LATER;
}

/* Opens a FIFO in a worker, because opening one waits for its other end. */
static long open_in_worker(const struct caller *caller, const char *path, ulong flags)
{
	long result = start_worker(caller);
	if (result != 0) return result;
	long fd = end_of_wait(CALL(openat, AT_FDCWD, path, flags | O_CLOEXEC));
	answer(caller, hand_over(caller, fd, flags));
	leave(0);
}

/* A new file never runs as its owner: for every user of the machine it would have the rights of this host. */
static ulong plain_mode(void)
{
	return ~06000UL;
}

/* Opens what an own O_PATH descriptor refers to, with the flags of the caller. */
static long reopen(struct caller *caller, int fd, ulong flags, ulong mode)
{
	struct statx stat;
	char path[40];
	long error = stat_at(fd, "", &stat);
	if (error < 0) return error;
	int kind = stat.stx_mode & S_IFMT;
	if (kind == S_IFDIR && (flags & O_CREAT)) return -EISDIR;
	ulong inner = (flags & ~(ulong)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY;
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		if ((error = take_umask(caller)) < 0) return error;
		inner |= flags & O_EXCL;
	}
	own_fd_path(path, sizeof path, fd);
	if (kind == S_IFIFO && !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != O_RDWR) return open_in_worker(caller, path, inner);
	return hand_over(caller, CALL(openat, AT_FDCWD, path, inner | O_CLOEXEC, mode & plain_mode()), flags);
}

/*
 * Finds what a path leads to, following links at its end by itself, each of them judged. The descriptor in `found` is O_PATH, or
 * negative when there is nothing; `place` is where it is or would be, and has to be closed.
 */
#define FOLLOW 1
#define CREATE 2
static long find(struct caller *caller, long directory, ulong address, int how, struct place *place, long *found)
{
	static char text[PATH_MAX];
	long error = locate_argument(caller, directory, address, place);
	for (int links = 0; error == 0; links++) {
		struct statx stat;
		if (links > 40) return -ELOOP;
		if ((how & CREATE) && place->slash && !place->dots) return -EISDIR;
		if (place->dots) *found = CALL(openat, place->directory, ".", O_PATH | O_CLOEXEC);
		else *found = CALL(openat, place->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (*found < 0) return *found == -ENOENT ? 0 : *found;
		error = stat_at((int)*found, "", &stat);
		if (error == 0 && (stat.stx_mode & S_IFMT) != S_IFLNK) {
			if (!place->slash || (stat.stx_mode & S_IFMT) == S_IFDIR) return 0;
			error = -ENOTDIR;
		}
		if (error == 0 && !(how & FOLLOW) && !place->slash) return 0;
		if (error == 0 && place->proc) {
			/* `locate` has checked that this directory can be used (rule 3). At the top of /proc, links have a text. */
			if (path_of(place->directory, text) >= 0 && !equal(text, "/proc")) {
				CALL(close, *found);
				*found = CALL(openat, place->directory, place->name, O_PATH | O_CLOEXEC);
				return *found < 0 ? *found : 0;
			}
		}
		if (error == 0) {
			long size = CALL(readlinkat, *found, "", text, PATH_MAX - 2);
			if (size < 0) error = size;
			else {
				text[size] = 0;
				if (place->slash) append(text, PATH_MAX, "/");
			}
		}
		CALL(close, *found);
		*found = -ENOENT;
		if (error == 0) {
			int base = place->directory;
			error = locate(caller, base, text, place);
			CALL(close, base);
		}
	}
	return error;
}

/*
 * Without files that cannot be opened, Landlock alone judges what is read, and the kernel continues the call. What Landlock cannot
 * tell apart are the command's own processes in /proc and those of the host: a path that begins there is opened by the guard.
 */
static int is_for_kernel(const struct caller *caller, ulong address, ulong flags)
{
	char start[7] = { 0 };
	if (!confines || denied_count > 0 || (flags & (O_CREAT | O_TRUNC | O_ACCMODE))) return 0;
	return read_memory(caller, start, untagged(address), 6) != 6 || !equal(start, "/proc/");
}

static long do_open(struct caller *caller, long directory, ulong address, ulong flags, ulong mode)
{
	struct place place;
	if (is_for_kernel(caller, address, flags)) return GO_ON;
	if ((flags & O_CREAT) && (flags & O_DIRECTORY)) return -EINVAL;
	for (int tries = 0; tries < 100; tries++) {
		long found = -ENOENT;
		int exclusive = (flags & O_CREAT) && (flags & O_EXCL);
		int how = (!exclusive && !(flags & O_NOFOLLOW) ? FOLLOW : 0) | (flags & O_CREAT ? CREATE : 0);
		long result = find(caller, directory, address, how, &place, &found);
		if (result == 0 && found < 0 && !(flags & O_CREAT)) result = -ENOENT;
		if (result == 0 && found >= 0 && exclusive) result = -EEXIST;
		if (result == 0 && found >= 0) {
			struct statx stat;
			int writes = (flags & (O_ACCMODE | O_TRUNC)) != 0 && (flags & O_TMPFILE) != O_TMPFILE;
			if (stat_at((int)found, "", &stat) == 0 && (stat.stx_mode & S_IFMT) == S_IFLNK)
				result = flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
			else if (is_outside_file((int)found, writes || (flags & O_TMPFILE) == O_TMPFILE)) result = -EACCES;
			else if (writes && (is_protected(&place) || is_protected_file((int)found))) result = refuse(&place);
			else result = reopen(caller, (int)found, flags, mode);
		} else if (result == 0) {
			if (is_outside(&place)) result = -EACCES;
			else if (is_protected(&place)) result = refuse(&place);
			else if ((result = take_umask(caller)) == 0) {
				/* Exclusive, so no link is followed: this makes a new file or fails. */
				ulong inner = flags | O_EXCL | O_NOCTTY | O_CLOEXEC;
				long fd = CALL(openat, place.directory, place.name, inner, mode & plain_mode());
				if (fd == -EEXIST && !exclusive) {
					/* Made by another process meanwhile. */
					close_place(&place);
					continue;
				}
				result = hand_over(caller, fd, flags);
			}
		}
		if (found >= 0) CALL(close, found);
		close_place(&place);
		return result;
	}
	return -EAGAIN;
}

static long do_truncate(struct caller *caller, ulong address, ulong size)
{
	struct place place;
	char path[40];
	long found = -ENOENT;
	if ((long)size < 0) return -EINVAL;
	long result = find(caller, AT_FDCWD, address, FOLLOW, &place, &found);
	if (result == 0 && found < 0) result = found;
	if (result == 0 && is_outside_file((int)found, 1)) result = -EACCES;
	if (result == 0 && (is_protected(&place) || is_protected_file((int)found))) result = refuse(&place);
	if (result == 0) {
		own_fd_path(path, sizeof path, (int)found);
		result = CALL(truncate, path, size);
	}
	if (found >= 0) CALL(close, found);
	close_place(&place);
	return result;
}

static long do_mkdir(struct caller *caller, long directory, ulong address, ulong mode)
{
	struct place place;
	long result = locate_argument(caller, directory, address, &place);
	if (result == 0) result = check_new(&place, 1);
	if (result == 0) result = take_umask(caller);
	if (result == 0) result = CALL(mkdirat, place.directory, place.name, mode);
	close_place(&place);
	return result;
}

static long do_mknod(struct caller *caller, long directory, ulong address, ulong mode, ulong device)
{
	struct place place;
	long result = locate_argument(caller, directory, address, &place);
	if (result == 0) result = check_new(&place, 0);
	if (result == 0) result = take_umask(caller);
	if (result == 0) result = CALL(mknodat, place.directory, place.name, mode & plain_mode(), device);
	close_place(&place);
	return result;
}

static long do_symlink(struct caller *caller, ulong text_address, long directory, ulong address)
{
	static char text[PATH_MAX];
	struct place place = { .directory = -1 };
	long result = read_path(caller, text, text_address);
	if (result >= 0) result = text[0] == 0 ? -ENOENT : locate_argument(caller, directory, address, &place);
	if (result == 0) result = check_new(&place, 0);
	if (result == 0) result = CALL(symlinkat, text, place.directory, place.name);
	close_place(&place);
	return result;
}

static long do_link(struct caller *caller, long from, ulong from_address, long to, ulong to_address, ulong flags)
{
	struct place source = { .directory = -1 }, target = { .directory = -1 };
	char path[PATH_MAX];
	long found = -ENOENT, result;
	if (flags & ~(ulong)(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW)) return -EINVAL;
	if ((flags & AT_EMPTY_PATH) && (result = read_path(caller, path, from_address)) <= 0) {
		if (result < 0) return result;
		found = base_of(caller, from);
		result = found < 0 ? found : is_waiting(caller) ? 0 : -ESRCH;
	} else {
		result = find(caller, from, from_address, flags & AT_SYMLINK_FOLLOW ? FOLLOW : 0, &source, &found);
		if (result == 0 && found < 0) result = found;
	}
	if (result == 0 && ((source.directory >= 0 && is_protected(&source)) || is_protected_file((int)found)))
		result = source.directory >= 0 ? refuse(&source) : -EPERM;
	if (result == 0 && is_outside_file((int)found, 1)) result = -EACCES;
	if (result == 0) result = locate_argument(caller, to, to_address, &target);
	if (result == 0) result = check_new(&target, 0);
	if (result == 0) {
		own_fd_path(path, sizeof path, (int)found);
		result = CALL(linkat, AT_FDCWD, path, target.directory, target.name, AT_SYMLINK_FOLLOW);
	}
	if (found >= 0) CALL(close, found);
	close_place(&source);
	close_place(&target);
	return result;
}

static long do_rename(struct caller *caller, long from, ulong from_address, long to, ulong to_address, ulong flags)
{
	struct place source = { .directory = -1 }, target = { .directory = -1 };
	struct statx stat;
	if ((flags & ~(ulong)7) || ((flags & RENAME_EXCHANGE) && (flags & ~(ulong)RENAME_EXCHANGE))) return -EINVAL;
	long result = locate_argument(caller, from, from_address, &source);
	if (result == 0) result = locate_argument(caller, to, to_address, &target);
	if (result == 0 && (source.dots || target.dots)) result = -EBUSY;
	if (result == 0) result = stat_at(source.directory, source.name, &stat);
	/* Only directories can be named with a slash at the end. */
	int exchange = (flags & RENAME_EXCHANGE) != 0;
	if (result == 0 && (source.slash || (target.slash && !exchange)) && (stat.stx_mode & S_IFMT) != S_IFDIR) result = -ENOTDIR;
	if (result == 0 && exchange) result = stat_at(target.directory, target.name, &stat);
	if (result == 0 && exchange && target.slash && (stat.stx_mode & S_IFMT) != S_IFDIR) result = -ENOTDIR;
	if (result == 0 && (is_outside(&source) || is_outside(&target))) result = -EACCES;
	if (result == 0 && is_protected(&target)) result = refuse(&target);
	if (result == 0 && is_protected(&source)) result = refuse(&source);
	if (result == 0 && (holds_rule(&source) || (exchange && holds_rule(&target)))) result = -EBUSY;
	if (result == 0)
		result = CALL(renameat2, source.directory, source.name, target.directory, target.name, flags);
	close_place(&source);
	close_place(&target);
	return result;
}

/* A socket that is bound to a path makes a name too. The guard binds the caller's own socket. */
static long do_bind(struct caller *caller, long socket, ulong address, ulong size)
{
	union { struct { __u16 family; char path[108]; } local; char bytes[130]; } name;
	static char path[PATH_MAX];
	struct place place = { .directory = -1 };
	long base = -1, pidfd = -1, fd = -1;
	if ((int)size < 0 || (int)size > 128) return -EINVAL;
	size = (ulong)(int)size;
	memset(&name, 0, sizeof name);
	if (size > 0 && read_memory(caller, &name, address, size) != (long)size) return -EFAULT;
	/* A port of the machine: others could connect to the command. */
	if (confines && size >= 2 && name.local.family != AF_UNIX) return -EACCES;
	long result = know(caller);
	if (result < 0) return result;
	pidfd = CALL(pidfd_open, caller->tgid, 0);
	fd = pidfd < 0 ? pidfd : CALL(pidfd_getfd, pidfd, (int)socket, 0);
	result = fd < 0 ? fd : is_waiting(caller) ? 0 : -ESRCH;
	if (result == 0 && size > 2 && size <= 110 && name.local.family == AF_UNIX && name.local.path[0] != 0) {
		path[0] = 0;
		append(path, PATH_MAX, name.bytes + 2);
		base = path[0] == '/' ? root_fd : base_of(caller, AT_FDCWD);
		result = base < 0 ? base : locate(caller, (int)base, path, &place);
		if (result == 0) result = place.dots ? -EADDRINUSE : take_umask(caller);
		if (result == 0 && is_outside(&place)) result = -EACCES;
		int is_name_of_rule = result == 0 && same_name(place.name, ".git");
		for (int at = 0; at < rule_count && result == 0; at++) is_name_of_rule |= same_name(place.name, rules[at].name);
		if (result == 0 && is_name_of_rule && is_protected(&place))
			result = stat_at(place.directory, place.name, &(struct statx){ 0 }) == 0 ? -EADDRINUSE : refuse(&place);
		/* The kernel resolves the path again. That is safe for a name that is protected nowhere; any other is bound in the very
		 * directory that was judged, and so is one whose path leads through /proc. */
		if (result == 0 && (is_name_of_rule || place.walked || confines)) {
			own_fd_path(path, sizeof path, place.directory);
			append(path, PATH_MAX, "/");
			append(path, PATH_MAX, place.name);
			if (length(path) < 108) {
				memset(name.local.path, 0, sizeof name.local.path);
				memcpy(name.local.path, path, length(path) + 1);
				size = 2 + length(path) + 1;
			} else result = -ENAMETOOLONG;
		}
		if (result == 0) result = CALL(fchdir, base);
	} else if (result == 0 && confines) {
		/* A name of the kernel's, which is not in a directory, would be seen by all of the host. */
		result = -EACCES;
	}
	if (result == 0) result = CALL(bind, fd, &name, size);
	CALL(fchdir, root_fd);
	if (base >= 0 && base != root_fd) CALL(close, base);
	if (fd >= 0) CALL(close, fd);
	if (pidfd >= 0) CALL(close, pidfd);
	close_place(&place);
	return result;
}

/* ---- Calls that only a guard without namespaces performs ---------------------------------------------------------------------- */

/* Whether a file that exists can be changed: its mode, its times. */
static long check_change(const struct place *place, int fd)
{
	if (is_outside_file(fd, 1)) return -EACCES;
	if ((place != 0 && is_protected(place)) || is_protected_file(fd)) return place != 0 ? refuse(place) : -EPERM;
	return 0;
}

/* Finds the file that a call changes: by a path, or by a descriptor of the caller alone. */
static long find_changed(struct caller *caller, long directory, ulong address, ulong flags, struct place *place, long *found)
{
	char path[PATH_MAX];
	long result = 0;
	place->directory = -1;
	int by_number = address == 0;
	if (!by_number && (flags & AT_EMPTY_PATH)) {
		result = read_path(caller, path, address);
		by_number = result == 0;
	}
	if (result < 0) return result;
	if (by_number) {
		*found = base_of(caller, directory);
		if (*found < 0) return *found;
		return is_waiting(caller) ? check_change(0, (int)*found) : -ESRCH;
	}
	result = find(caller, directory, address, flags & AT_SYMLINK_NOFOLLOW ? 0 : FOLLOW, place, found);
	if (result == 0 && *found < 0) result = *found;
	return result == 0 ? check_change(place, (int)*found) : result;
}

static long do_chmod(struct caller *caller, long directory, ulong address, ulong mode, ulong flags)
{
	struct place place;
	struct statx stat;
	char path[40];
	long found = -ENOENT;
	long result = find_changed(caller, directory, address, flags, &place, &found);
	if (result == 0) result = stat_at((int)found, "", &stat);
	if (result == 0 && (stat.stx_mode & S_IFMT) == S_IFLNK) result = -EOPNOTSUPP;
	if (result == 0 && (mode & 06000 & ~(ulong)stat.stx_mode) && (stat.stx_mode & S_IFMT) == S_IFREG) result = -EPERM;
	if (result == 0) {
		own_fd_path(path, sizeof path, (int)found);
		result = CALL(fchmodat, AT_FDCWD, path, mode);
	}
	if (found >= 0) CALL(close, found);
	close_place(&place);
	return result;
}

static long do_utimens(struct caller *caller, long directory, ulong address, ulong times_address, ulong flags)
{
	struct place place;
	char path[40], times[32];
	long found = -ENOENT;
	if (times_address != 0 && read_memory(caller, times, times_address, sizeof times) != sizeof times) return -EFAULT;
	long result = find_changed(caller, directory, address, flags, &place, &found);
	if (result == 0) {
		own_fd_path(path, sizeof path, (int)found);
		result = CALL(utimensat, AT_FDCWD, path, times_address == 0 ? 0 : times, 0);
	}
	if (found >= 0) CALL(close, found);
	close_place(&place);
	return result;
}

static long do_unlink(struct caller *caller, long directory, ulong address, ulong flags)
{
	struct place place;
	int removes_directory = (flags & AT_REMOVEDIR) != 0;
	if (flags & ~(ulong)AT_REMOVEDIR) return -EINVAL;
	long result = locate_argument(caller, directory, address, &place);
	if (result == 0 && place.dots) result = removes_directory ? -EINVAL : -EISDIR;
	if (result == 0 && place.slash && !removes_directory) result = -ENOTDIR;
	if (result == 0 && is_outside(&place)) result = -EACCES;
	if (result == 0 && is_protected(&place)) result = refuse(&place);
	if (result == 0 && removes_directory && holds_rule(&place)) result = -EBUSY;
	if (result == 0) result = CALL(unlinkat, place.directory, place.name, flags);
	close_place(&place);
	return result;
}

/* An address of IPv4, in the order of bytes of the network. */
struct internet { __u16 family, port; __u32 address; char zero[8]; };
#define BIG_ENDIAN_16(value) ((__u16)((value) << 8 | (value) >> 8))
#define LOOPBACK 0x0100007fU

/* Connects the caller's own socket to a socket file that the command can write to, or to the proxy. In a worker, because it can block. */
static long do_connect(struct caller *caller, long socket, ulong address, ulong size)
{
	union { struct { __u16 family; char path[108]; } local; struct internet internet; char bytes[130]; } name;
	static char path[PATH_MAX];
	struct place place = { .directory = -1 };
	struct statx stat;
	long base, pidfd, fd, found = -ENOENT;
	if ((int)size < 0 || (int)size > 128) return -EINVAL;
	size = (ulong)(int)size;
	memset(&name, 0, sizeof name);
	if (size > 0 && read_memory(caller, &name, address, size) != (long)size) return -EFAULT;
	long result = know(caller);
	if (result < 0) return result;
	int is_proxy = proxy_port != 0 && size >= sizeof name.internet && name.internet.family == AF_INET &&
		name.internet.port == BIG_ENDIAN_16(proxy_port) && name.internet.address == LOOPBACK;
	if (!is_proxy && (size <= 2 || size > 110 || name.local.family != AF_UNIX || name.local.path[0] == 0)) return -EACCES;
	pidfd = CALL(pidfd_open, caller->tgid, 0);
	fd = pidfd < 0 ? pidfd : CALL(pidfd_getfd, pidfd, (int)socket, 0);
	if (pidfd >= 0) CALL(close, pidfd);
	result = fd < 0 ? fd : is_waiting(caller) ? 0 : -ESRCH;
	if (result == 0 && !is_proxy) {
		path[0] = 0;
		append(path, PATH_MAX, name.bytes + 2);
		base = path[0] == '/' ? root_fd : base_of(caller, AT_FDCWD);
		result = base < 0 ? base : locate(caller, (int)base, path, &place);
		if (base >= 0 && base != root_fd) CALL(close, base);
	}
	/* A link is not followed: programs that use one are rare. */
	if (result == 0 && !is_proxy) found = CALL(openat, place.directory, place.dots ? "." : place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (result == 0 && !is_proxy && found < 0) result = found;
	if (result == 0 && !is_proxy) result = stat_at((int)found, "", &stat);
	if (result == 0 && !is_proxy && (stat.stx_mode & S_IFMT) != S_IFSOCK) result = -ECONNREFUSED;
	if (result == 0 && !is_proxy && (place.proc || is_outside_file((int)found, 1))) result = -EACCES;
	if (result == 0) {
		size = sizeof name.internet;
		if (!is_proxy) {
			memset(&name, 0, sizeof name);
			name.local.family = AF_UNIX;
			own_fd_path(name.local.path, sizeof name.local.path, (int)found);
			size = 2 + length(name.local.path) + 1;
		}
		result = start_worker(caller);
		if (result == 0) {
			answer(caller, end_of_wait(CALL(connect, fd, &name, size)));
			leave(0);
		}
	}
	if (found >= 0) CALL(close, found);
	if (fd >= 0) CALL(close, fd);
	close_place(&place);
	return result;
}

/* Only sockets between processes of the command take connections. Without this, one that was never bound would get a port of the machine. */
static long do_listen(struct caller *caller, long socket, long backlog)
{
	int family = 0, size = sizeof family;
	long result = know(caller), pidfd, fd;
	if (result < 0) return result;
	pidfd = CALL(pidfd_open, caller->tgid, 0);
	fd = pidfd < 0 ? pidfd : CALL(pidfd_getfd, pidfd, (int)socket, 0);
	if (pidfd >= 0) CALL(close, pidfd);
	result = fd < 0 ? fd : is_waiting(caller) ? 0 : -ESRCH;
	if (result == 0) result = CALL(getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
	if (result == 0) result = family == AF_UNIX ? CALL(listen, fd, backlog) : -EACCES;
	if (fd >= 0) CALL(close, fd);
	return result;
}

/* Performs one call. Returns its result, or LATER. */
/* ---- Processes -------------------------------------------------------------------------------------------------------------- */

/* The tasks of the command. A directory has two links and one for each directory in it: /proc/N/task has one for each thread. */
static long count_tasks(void)
{
	static char entries[32768];
	char path[64];
	struct statx stat;
	long tasks = 0, size, directory = CALL(openat, proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) return max_tasks;
	while ((size = CALL(getdents64, directory, entries, sizeof entries)) > 0)
		for (long at = 0; at < size; at += *(__u16 *)(entries + at + 16)) {
			long pid = number_of(entries + at + 19);
			if (pid <= 1 || pid == own_pid || (confines && !is_descendant(pid))) continue;
			proc_path(path, sizeof path, pid, "task");
			if (stat_at(proc_fd, path, &stat) == 0 && stat.stx_nlink > 2) tasks += stat.stx_nlink - 2;
		}
	CALL(close, directory);
	return tasks;
}

/*
 * Lets the call create a task, unless the command has as many as it can have. The kernel does not hold root to RLIMIT_NPROC, and measurement
 * from outside can be slower than a fork bomb. Tasks that end are not seen: they are counted again only when there may be too many.
 */
static long do_clone(void)
{
	/* The command itself is one, and was not created by such a call. */
	static long counted = 1, created;
	if (counted + created >= max_tasks) {
		counted = count_tasks();
		created = 0;
		if (counted >= max_tasks) return -EAGAIN;
	}
	created++;
	return GO_ON;
}

static long perform(struct caller *caller, const struct seccomp_data *data)
{
	const __u64 *a = data->args;
	switch (data->nr) {
#if defined(__NR_open)
	case __NR_open: return do_open(caller, AT_FDCWD, a[0], (__u32)a[1], (__u32)a[2]);
	case __NR_creat: return do_open(caller, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, (__u32)a[1]);
	case __NR_mkdir: return do_mkdir(caller, AT_FDCWD, a[0], (__u32)a[1]);
	case __NR_mknod: return do_mknod(caller, AT_FDCWD, a[0], (__u32)a[1], (__u32)a[2]);
	case __NR_symlink: return do_symlink(caller, a[0], AT_FDCWD, a[1]);
	case __NR_link: return do_link(caller, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case __NR_rename: return do_rename(caller, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
#endif
	case __NR_openat: return do_open(caller, (long)a[0], a[1], (__u32)a[2], (__u32)a[3]);
	case __NR_mkdirat: return do_mkdir(caller, (long)a[0], a[1], (__u32)a[2]);
	case __NR_mknodat: return do_mknod(caller, (long)a[0], a[1], (__u32)a[2], (__u32)a[3]);
	case __NR_symlinkat: return do_symlink(caller, a[0], (long)a[1], a[2]);
	case __NR_linkat: return do_link(caller, (long)a[0], a[1], (long)a[2], a[3], (__u32)a[4]);
#if defined(__NR_renameat)
	case __NR_renameat: return do_rename(caller, (long)a[0], a[1], (long)a[2], a[3], 0);
#endif
	case __NR_renameat2: return do_rename(caller, (long)a[0], a[1], (long)a[2], a[3], (__u32)a[4]);
	case __NR_truncate: return do_truncate(caller, a[0], a[1]);
	case __NR_bind: return do_bind(caller, (long)a[0], a[1], a[2]);
#if defined(__NR_open)
	case __NR_chmod: return do_chmod(caller, AT_FDCWD, a[0], (__u32)a[1], 0);
	case __NR_unlink: return do_unlink(caller, AT_FDCWD, a[0], 0);
	case __NR_rmdir: return do_unlink(caller, AT_FDCWD, a[0], AT_REMOVEDIR);
#endif
	case __NR_fchmod: return do_chmod(caller, (long)a[0], 0, (__u32)a[1], 0);
	case __NR_fchmodat: return a[1] == 0 ? -EFAULT : do_chmod(caller, (long)a[0], a[1], (__u32)a[2], 0);
	case NR_FCHMODAT2: return a[1] == 0 ? -EFAULT : do_chmod(caller, (long)a[0], a[1], (__u32)a[2], (__u32)a[3]);
	case __NR_utimensat: return do_utimens(caller, (long)a[0], a[1], a[2], (__u32)a[3]);
	case __NR_unlinkat: return do_unlink(caller, (long)a[0], a[1], (__u32)a[2]);
	case __NR_connect: return do_connect(caller, (long)a[0], a[1], a[2]);
	case __NR_listen: return do_listen(caller, (long)a[0], (long)(int)a[1]);
#if defined(__NR_fork)
	case __NR_fork: case __NR_vfork:
#endif
	case __NR_clone: case __NR_clone3: return do_clone();
	default: return -ENOSYS;
	}
}

/* ---- The filter ------------------------------------------------------------------------------------------------------------- */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)(field))
#define ARGUMENT(n) LOAD(__builtin_offsetof(struct seccomp_data, args) + 8 * (n))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define WHEN(value, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)(value), 0, 1), ANSWER(action)
#define ERROR(number) (SECCOMP_RET_ERRNO | (number))
/* Opens that make, empty or may write a file. The flags are an int: the kernel ignores the upper half of the argument. */
#define WHEN_OPEN(number, flags) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5), ARGUMENT(flags), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_PATH, 2, 0), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC | O_ACCMODE, 0, 1), \
	ANSWER(SECCOMP_RET_USER_NOTIF), ANSWER(SECCOMP_RET_ALLOW)

#define NUMBER LOAD(__builtin_offsetof(struct seccomp_data, nr))
/* An argument of the call equals the value, or has a bit of it: then the action. Both leave the number of the call loaded. */
#define WHEN_ARGUMENT(number, argument, value, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), ARGUMENT(argument), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)(value), 0, 1), ANSWER(action), NUMBER
#define WHEN_BITS(number, argument, bits, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), ARGUMENT(argument), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (__u32)(bits), 0, 1), ANSWER(action), NUMBER
#define UNLESS_ZERO(number, argument, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), ARGUMENT(argument), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), ANSWER(action), NUMBER
/* Sockets between processes of the command: no other family, and no datagrams, which name their receiver in each call. */
#define ONLY_LOCAL_SOCKETS(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 8), ARGUMENT(0), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0), ANSWER(ERROR(EAFNOSUPPORT)), ARGUMENT(1), \
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0), ANSWER(ERROR(EAFNOSUPPORT)), NUMBER
#define WHEN_ANY_OPEN(number, flags) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), ARGUMENT(flags), \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_PATH, 1, 0), ANSWER(SECCOMP_RET_USER_NOTIF), NUMBER

/* Without namespaces: every open, not only those that write. Comes after the number was loaded. */
static const struct sock_filter filter_opens[] = {
#if defined(__NR_open)
	WHEN_ANY_OPEN(__NR_open, 1),
#endif
	WHEN_ANY_OPEN(__NR_openat, 2),
};

/* TCP, and no other protocol of IPv4. */
#define ALLOW_TCP(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 10), ARGUMENT(0), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 0, 7), ARGUMENT(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 4), ARGUMENT(2), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 1), \
	ANSWER(SECCOMP_RET_ALLOW), NUMBER
#define FAST_OPEN 0x20000000

/* With a proxy, before `filter_confine`: sockets that do_connect connects to it. */
static const struct sock_filter filter_proxy[] = {
	ALLOW_TCP(__NR_socket),
	/* Data with an address connects without `connect`. */
	WHEN_BITS(__NR_sendto, 3, FAST_OPEN, ERROR(EOPNOTSUPP)), WHEN_BITS(__NR_sendmsg, 2, FAST_OPEN, ERROR(EOPNOTSUPP)),
	WHEN_BITS(__NR_sendmmsg, 3, FAST_OPEN, ERROR(EOPNOTSUPP)),
	WHEN(__NR_listen, SECCOMP_RET_USER_NOTIF),
};

#define NEW_NAMESPACES 0x7e020000
/* What Landlock leaves out. Comes after the number was loaded, before the rest of `filter`. */
static const struct sock_filter filter_confine[] = {
	ONLY_LOCAL_SOCKETS(__NR_socket), ONLY_LOCAL_SOCKETS(__NR_socketpair),
	WHEN(__NR_connect, SECCOMP_RET_USER_NOTIF),
	/* Landlock does not know modes and times: a command could change those of every file of its user. */
#if defined(__NR_open)
	WHEN(__NR_chmod, SECCOMP_RET_USER_NOTIF), WHEN(__NR_unlink, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_rmdir, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_utime, ERROR(ENOSYS)), WHEN(__NR_utimes, ERROR(ENOSYS)), WHEN(__NR_futimesat, ERROR(ENOSYS)),
	WHEN(__NR_chown, ERROR(EPERM)), WHEN(__NR_lchown, ERROR(EPERM)),
	WHEN(__NR_iopl, ERROR(EPERM)), WHEN(__NR_ioperm, ERROR(EPERM)), WHEN(__NR_modify_ldt, ERROR(ENOSYS)),
#endif
	WHEN(__NR_fchmod, SECCOMP_RET_USER_NOTIF), WHEN(__NR_fchmodat, SECCOMP_RET_USER_NOTIF),
	WHEN(NR_FCHMODAT2, SECCOMP_RET_USER_NOTIF), WHEN(__NR_utimensat, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_unlinkat, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_fchown, ERROR(EPERM)), WHEN(__NR_fchownat, ERROR(EPERM)),
	WHEN(__NR_setxattr, ERROR(EOPNOTSUPP)), WHEN(__NR_lsetxattr, ERROR(EOPNOTSUPP)), WHEN(__NR_fsetxattr, ERROR(EOPNOTSUPP)),
	WHEN(__NR_removexattr, ERROR(EOPNOTSUPP)), WHEN(__NR_lremovexattr, ERROR(EOPNOTSUPP)),
	WHEN(__NR_fremovexattr, ERROR(EOPNOTSUPP)),
	/* setxattrat, removexattrat, open_tree_attr, file_setattr: newer than these headers. */
	WHEN(463, ERROR(ENOSYS)), WHEN(466, ERROR(ENOSYS)), WHEN(467, ERROR(ENOSYS)), WHEN(469, ERROR(ENOSYS)),
	WHEN_ARGUMENT(__NR_ioctl, 1, 0x40086602, ERROR(EPERM)), /* FS_IOC_SETFLAGS */
	WHEN_ARGUMENT(__NR_ioctl, 1, 0x401c5820, ERROR(EPERM)), /* FS_IOC_FSSETXATTR */
	WHEN_ARGUMENT(__NR_ioctl, 1, 0x5412, ERROR(EPERM)), /* TIOCSTI */
	WHEN_ARGUMENT(__NR_ioctl, 1, 0x541c, ERROR(EPERM)), /* TIOCLINUX */
	/* Namespaces, in which a command would have capabilities, and mounts. The flags of clone3 are in memory; programs use clone. */
	WHEN_BITS(__NR_unshare, 0, NEW_NAMESPACES | 0x80, ERROR(EPERM)), WHEN_BITS(__NR_clone, 0, NEW_NAMESPACES, ERROR(EPERM)),
	WHEN(__NR_clone3, ERROR(ENOSYS)), WHEN(__NR_setns, ERROR(EPERM)), WHEN(__NR_chroot, ERROR(EPERM)),
	WHEN(__NR_mount, ERROR(EPERM)), WHEN(__NR_umount2, ERROR(EPERM)), WHEN(__NR_pivot_root, ERROR(EPERM)),
	WHEN(__NR_open_tree, ERROR(ENOSYS)), WHEN(__NR_move_mount, ERROR(ENOSYS)), WHEN(__NR_fsopen, ERROR(ENOSYS)),
	WHEN(__NR_fsconfig, ERROR(ENOSYS)), WHEN(__NR_fsmount, ERROR(ENOSYS)), WHEN(__NR_fspick, ERROR(ENOSYS)),
	WHEN(__NR_mount_setattr, ERROR(ENOSYS)), WHEN(__NR_open_by_handle_at, ERROR(EPERM)),
	/* Other processes: their memory, descriptors, limits, priorities, and what they share. */
	WHEN(__NR_ptrace, ERROR(EPERM)), WHEN(__NR_process_vm_readv, ERROR(EPERM)), WHEN(__NR_process_vm_writev, ERROR(EPERM)),
	WHEN(__NR_pidfd_getfd, ERROR(EPERM)), WHEN(__NR_kcmp, ERROR(EPERM)), WHEN(__NR_process_madvise, ERROR(EPERM)),
	WHEN(__NR_process_mrelease, ERROR(EPERM)), WHEN(__NR_migrate_pages, ERROR(EPERM)), WHEN(__NR_move_pages, ERROR(EPERM)),
	UNLESS_ZERO(__NR_prlimit64, 0, ERROR(EPERM)), UNLESS_ZERO(__NR_sched_setparam, 0, ERROR(EPERM)),
	UNLESS_ZERO(__NR_sched_setscheduler, 0, ERROR(EPERM)), UNLESS_ZERO(__NR_sched_setattr, 0, ERROR(EPERM)),
	UNLESS_ZERO(__NR_sched_setaffinity, 0, ERROR(EPERM)), UNLESS_ZERO(__NR_setpriority, 0, ERROR(EPERM)),
	UNLESS_ZERO(__NR_setpriority, 1, ERROR(EPERM)), WHEN(__NR_ioprio_set, ERROR(EPERM)),
	/* The mark of the command's processes is their limit of file locks (RLIMIT_LOCKS): it can be read, not changed. */
	WHEN_ARGUMENT(__NR_setrlimit, 0, 10, ERROR(EPERM)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 8), ARGUMENT(1),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 10, 0, 5), ARGUMENT(2), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
	LOAD(__builtin_offsetof(struct seccomp_data, args) + 8 * 2 + 4),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), ANSWER(ERROR(EPERM)), NUMBER,
	WHEN(__NR_shmget, ERROR(ENOSYS)), WHEN(__NR_shmat, ERROR(ENOSYS)), WHEN(__NR_shmctl, ERROR(ENOSYS)),
	WHEN(__NR_msgget, ERROR(ENOSYS)), WHEN(__NR_msgsnd, ERROR(ENOSYS)), WHEN(__NR_msgrcv, ERROR(ENOSYS)),
	WHEN(__NR_msgctl, ERROR(ENOSYS)), WHEN(__NR_semget, ERROR(ENOSYS)), WHEN(__NR_semop, ERROR(ENOSYS)),
	WHEN(__NR_semtimedop, ERROR(ENOSYS)), WHEN(__NR_semctl, ERROR(ENOSYS)), WHEN(__NR_mq_open, ERROR(ENOSYS)),
	WHEN(__NR_mq_unlink, ERROR(ENOSYS)),
	/* The kernel: keyrings, programs and modules in it, its clock and its log. */
	WHEN(__NR_add_key, ERROR(ENOSYS)), WHEN(__NR_request_key, ERROR(ENOSYS)), WHEN(__NR_keyctl, ERROR(ENOSYS)),
	WHEN(__NR_bpf, ERROR(ENOSYS)), WHEN(__NR_perf_event_open, ERROR(ENOSYS)), WHEN(__NR_fanotify_init, ERROR(ENOSYS)),
	WHEN(__NR_kexec_load, ERROR(EPERM)), WHEN(__NR_kexec_file_load, ERROR(EPERM)), WHEN(__NR_init_module, ERROR(EPERM)),
	WHEN(__NR_finit_module, ERROR(EPERM)), WHEN(__NR_delete_module, ERROR(EPERM)), WHEN(__NR_reboot, ERROR(EPERM)),
	WHEN(__NR_swapon, ERROR(EPERM)), WHEN(__NR_swapoff, ERROR(EPERM)), WHEN(__NR_acct, ERROR(EPERM)),
	WHEN(__NR_quotactl, ERROR(EPERM)), WHEN(__NR_syslog, ERROR(EPERM)), WHEN(__NR_settimeofday, ERROR(EPERM)),
	WHEN(__NR_clock_settime, ERROR(EPERM)), WHEN(__NR_adjtimex, ERROR(EPERM)), WHEN(__NR_clock_adjtime, ERROR(EPERM)),
	WHEN(__NR_sethostname, ERROR(EPERM)), WHEN(__NR_setdomainname, ERROR(EPERM)), WHEN(__NR_vhangup, ERROR(EPERM)),
	WHEN(__NR_memfd_secret, ERROR(ENOSYS)),
};

/*
 * In namespaces, where modes are not the guard's otherwise: a file that runs as its owner would give the rights of this host to every user of
 * the machine. Whether it is a file, and not a directory, only the guard can see.
 */
static const struct sock_filter filter_modes[] = {
#if defined(__NR_open)
	WHEN_BITS(__NR_chmod, 1, 06000, SECCOMP_RET_USER_NOTIF),
#endif
	WHEN_BITS(__NR_fchmod, 1, 06000, SECCOMP_RET_USER_NOTIF), WHEN_BITS(__NR_fchmodat, 2, 06000, SECCOMP_RET_USER_NOTIF),
	WHEN_BITS(NR_FCHMODAT2, 2, 06000, SECCOMP_RET_USER_NOTIF),
};

/* With a limit of tasks, after `filter_confine`, which refuses some of these calls. */
static const struct sock_filter filter_tasks[] = {
#if defined(__NR_fork)
	WHEN(__NR_fork, SECCOMP_RET_USER_NOTIF), WHEN(__NR_vfork, SECCOMP_RET_USER_NOTIF),
#endif
	WHEN(__NR_clone, SECCOMP_RET_USER_NOTIF), WHEN(__NR_clone3, SECCOMP_RET_USER_NOTIF),
};

static struct sock_filter filter[] = {
	LOAD(__builtin_offsetof(struct seccomp_data, arch)),
	/* Another instruction set (32 bit): its calls have other numbers, and none of them would be recognised. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
	NUMBER,
#if defined(__x86_64__)
	/* The x32 table of the same instruction set. */
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), ANSWER(ERROR(ENOSYS)),
	WHEN_OPEN(__NR_open, 1),
	WHEN(__NR_creat, SECCOMP_RET_USER_NOTIF), WHEN(__NR_mkdir, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_mknod, SECCOMP_RET_USER_NOTIF), WHEN(__NR_symlink, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_link, SECCOMP_RET_USER_NOTIF), WHEN(__NR_rename, SECCOMP_RET_USER_NOTIF),
#endif
	WHEN_OPEN(__NR_openat, 2),
	WHEN(__NR_mkdirat, SECCOMP_RET_USER_NOTIF), WHEN(__NR_mknodat, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_symlinkat, SECCOMP_RET_USER_NOTIF), WHEN(__NR_linkat, SECCOMP_RET_USER_NOTIF),
#if defined(__NR_renameat)
	WHEN(__NR_renameat, SECCOMP_RET_USER_NOTIF),
#endif
	WHEN(__NR_renameat2, SECCOMP_RET_USER_NOTIF), WHEN(__NR_truncate, SECCOMP_RET_USER_NOTIF),
	WHEN(__NR_bind, SECCOMP_RET_USER_NOTIF),
	/* Its flags are in memory. Programs fall back to openat, as on a kernel before 5.6. */
	WHEN(__NR_openat2, ERROR(ENOSYS)),
	/* io_uring makes names without system calls. */
	WHEN(__NR_io_uring_setup, ERROR(ENOSYS)), WHEN(__NR_io_uring_enter, ERROR(ENOSYS)),
	WHEN(__NR_io_uring_register, ERROR(ENOSYS)),
	/* Could make the guard wait when it reads memory. */
	WHEN(__NR_userfaultfd, ERROR(ENOSYS)),
	/* Rules that a program gives itself would not bind what the guard does for it: it must know that there are none. */
	WHEN(__NR_landlock_create_ruleset, ERROR(ENOSYS)),
	/* A process that cannot be traced could not be read by the guard, and could make no file. PR_SET_DUMPABLE does nothing. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 4), ARGUMENT(0),
	WHEN(PR_SET_DUMPABLE, ERROR(0)), ANSWER(SECCOMP_RET_ALLOW),
	/* Some file systems make names by ioctl: subvolumes of btrfs and bcachefs, copies of ocfs2. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 1, 0), ANSWER(SECCOMP_RET_ALLOW),
	ARGUMENT(1),
	WHEN(0x50009401, ERROR(EPERM)), WHEN(0x50009417, ERROR(EPERM)), /* BTRFS_IOC_SNAP_CREATE, _V2 */
	WHEN(0x5000940e, ERROR(EPERM)), WHEN(0x50009418, ERROR(EPERM)), /* BTRFS_IOC_SUBVOL_CREATE, _V2 */
	WHEN(0x40186f04, ERROR(EPERM)), /* OCFS2_IOC_REFLINK */
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00),
	WHEN(0xbc00, ERROR(EPERM)), /* bcachefs */
	ANSWER(SECCOMP_RET_ALLOW),
};

/* ---- Without namespaces -------------------------------------------------------------------------------------------------------- */

/*
 * Where bubblewrap cannot be used, Landlock and the filter take the place of namespaces. The guard is then an ordinary process of the
 * host, and:
 *
 *   - Landlock has two layers. The outer one binds the guard and the command: what the guard does for the command is refused by the kernel
 *     too. The inner one binds the command alone: it leaves out /proc (the guard reads there who calls), TCP (the guard connects to the proxy), signals to processes
 *     outside, the guard among them, and abstract sockets.
 *   - Rules of Landlock only add, so what is protected inside a writable directory is judged by the guard, with `--name`, `--git`
 *     and `--deny`. In this mode it also performs the calls that remove names, or change modes and times.
 *   - The guard adopts every process that loses its parent, and kills all of them when the command ends.
 *   - Neither the command nor the guard has capabilities: what the guard could do with them, it would do for the command.
 */
#define LANDLOCK_VERSION 1
#define RULE_PATH_BENEATH 1
/* Execute, read a file, read a directory. */
#define FS_READ 0xdUL
/* What a file, as opposed to a directory, can be allowed: execute, write, read, truncate, ioctl of a device. */
#define FS_OF_FILE 0xc007UL
/* All but devices (character, block) and their ioctls. */
#define FS_WRITE 0x77bfUL
#define FS_ALL 0xffffUL

struct landlock_ruleset { __u64 fs, net, scoped; };
struct __attribute__((packed)) landlock_path { __u64 allowed; __s32 fd; };
struct landlock_port { __u64 allowed, port; };
#define RULE_NET_PORT 2
#define NET_CONNECT 2

static long landlock_version(void)
{
	long version = CALL(landlock_create_ruleset, 0, 0, LANDLOCK_VERSION);
	return version < 0 ? 0 : version;
}

static void allow_path(int ruleset, const char *path, ulong access)
{
	struct statx stat;
	long fd = CALL(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
	/* Removed since it was listed, or not for this user: then it is not allowed either. */
	if (fd < 0) return;
	if (stat_at((int)fd, "", &stat) == 0) {
		if ((stat.stx_mode & S_IFMT) != S_IFDIR) access &= FS_OF_FILE;
		struct landlock_path rule = { .allowed = access, .fd = (__s32)fd };
		if (CALL(landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0) fail("Landlock refuses a rule for ", path);
	}
	CALL(close, fd);
}

/* Puts this process, and all it starts, under the lists of paths. */
static void restrict_self(int is_command)
{
	struct landlock_ruleset rules = { .fs = FS_ALL, .net = 3, .scoped = is_command ? 3 : 0 };
	long fd = CALL(landlock_create_ruleset, &rules, sizeof rules, 0);
	if (fd < 0) fail("the kernel has no Landlock that is new enough (Linux 6.12 or newer has)", "");
	for (int at = 0; at < readable_count; at++) allow_path((int)fd, readable[at], FS_READ);
	for (int at = 0; at < writable_count; at++) allow_path((int)fd, writable[at], FS_WRITE);
	if (!is_command) allow_path((int)fd, "/proc", FS_READ);
	/* The guard connects to the proxy. The command itself connects to nothing. */
	struct landlock_port proxy = { .allowed = NET_CONNECT, .port = (__u64)proxy_port };
	if (!is_command && proxy_port != 0 && CALL(landlock_add_rule, fd, RULE_NET_PORT, &proxy, 0) < 0)
		fail("Landlock refuses the rule for the proxy", "");
	if (CALL(landlock_restrict_self, fd, 0) < 0) fail("Landlock does not restrict this process", "");
	CALL(close, fd);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	/* The two calls fail without the capability that only root has, who alone needs them. */
	CALL(prctl, PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED, 0, 0, 0);
	for (int capability = 0; capability < 64; capability++) CALL(prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
	CALL(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (CALL(capset, &header, none) < 0) fail("capabilities cannot be dropped", "");
}

static void read_denied(void)
{
	for (int at = 0; at < denied_count; at++) {
		struct statx stat;
		/* Removed since it was listed: its name stays denied. */
		if (CALL(statx, AT_FDCWD, denied[at], AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stat) < 0) continue;
		denied_files[at].major = stat.stx_dev_major;
		denied_files[at].minor = stat.stx_dev_minor;
		denied_files[at].inode = stat.stx_ino;
	}
}

/* Blocks the signals that ask a program to end: the command gets them, and the guard ends with the command. */
#define ASKING_SIGNALS (1UL << (SIGTERM - 1) | 1UL << (SIGINT - 1) | 1UL << (SIGHUP - 1) | 1UL << (SIGQUIT - 1))

static void confine_self(void)
{
	__u64 asking = ASKING_SIGNALS;
	CALL(rt_sigprocmask, SIG_BLOCK, &asking, 0, sizeof asking);
	if (CALL(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		fail("it cannot hold the command's processes", "");
	drop_capabilities();
	read_denied();
	restrict_self(0);
}

static void confine_command(void)
{
	__u64 asking = ASKING_SIGNALS;
	CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	restrict_self(1);
	CALL(rt_sigprocmask, SIG_UNBLOCK, &asking, 0, sizeof asking);
}

/* Kills every process that the command left. Each is, or becomes, a child of the guard. */
static void kill_descendants(void)
{
	static char entries[32768];
	for (;;) {
		long pid = CALL(wait4, -1, 0, WNOHANG, 0);
		if (pid == -ECHILD) return;
		if (pid > 0) continue;
		long directory = CALL(openat, proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), size;
		if (directory < 0) return;
		while ((size = CALL(getdents64, directory, entries, sizeof entries)) > 0)
			for (long at = 0; at < size;) {
				/* u64 inode, s64 offset, u16 length, u8 type, name. */
				__u16 step = *(__u16 *)(entries + at + 16);
				long found = number_of(entries + at + 19);
				if (found > 1 && parent_of(found) == own_pid) CALL(kill, found, SIGKILL);
				at += step;
			}
		CALL(close, directory);
		/* The kernel wakes the guard when one of them is gone. */
		CALL(wait4, -1, 0, 0, 0);
	}
}

/* ---- Start and supervision -------------------------------------------------------------------------------------------------- */

#define LISTENER 5
/* After the check of the instruction set, with the number of the call loaded. */
#if defined(__x86_64__)
#define FILTER_START 6
#else
#define FILTER_START 4
#endif

/* The command's process: a session of its own, the filter, the program. The descriptor table is shared with the guard until exec. */
__attribute__((noreturn)) static void start_program(char **argv, char **env)
{
	static struct sock_filter whole[1024];
	struct sock_fprog program = { .len = 0, .filter = whole };
	if (confines) confine_command();
	for (ulong at = 0; at < sizeof filter / sizeof *filter; at++) {
		whole[program.len++] = filter[at];
		if (at + 1 != FILTER_START) continue;
		for (ulong one = 0; confines && one < sizeof filter_opens / sizeof *filter_opens; one++)
			whole[program.len++] = filter_opens[one];
		for (ulong one = 0; confines && proxy_port != 0 && one < sizeof filter_proxy / sizeof *filter_proxy; one++)
			whole[program.len++] = filter_proxy[one];
		for (ulong one = 0; confines && one < sizeof filter_confine / sizeof *filter_confine; one++)
			whole[program.len++] = filter_confine[one];
		for (ulong one = 0; !confines && one < sizeof filter_modes / sizeof *filter_modes; one++)
			whole[program.len++] = filter_modes[one];
		for (ulong one = 0; max_tasks > 0 && one < sizeof filter_tasks / sizeof *filter_tasks; one++)
			whole[program.len++] = filter_tasks[one];
	}
	CALL(setsid, 0);
	long fd = CALL(seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (fd < 0) fail("the kernel has no user notification for system calls (Linux 5.19 or newer has)", "");
	if (fd != LISTENER) {
		if (CALL(dup3, fd, LISTENER, O_CLOEXEC) < 0) fail("the listener cannot be kept", "");
		CALL(close, fd);
	}
	CALL(execve, argv[0], argv, env);
	fail("cannot start ", argv[0]);
}

static void forget_worker(int at)
{
	workers[at] = workers[--worker_count];
}

/* Ends workers whose caller is gone, and lets a caller see the signal that came for it: its call is interrupted until it has answered. */
static void look_after_workers(void)
{
	for (int at = worker_count - 1; at >= 0; at--) {
		struct caller *caller = &workers[at].caller;
		int waits = is_waiting(caller);
		caller->tgid = 0;
		if (waits && (know(caller) < 0 || !caller->pending_signal)) continue;
		CALL(kill, workers[at].pid, waits ? SIGUSR1 : SIGKILL);
	}
}

/* Takes the processes that ended: the program, workers, and what was left to pid 1. */
static void reap(long program)
{
	for (;;) {
		int status = 0;
		long pid = CALL(wait4, -1, &status, WNOHANG, 0);
		if (pid <= 0) return;
		if (pid == program) {
			/* The guard's end closes the listener before it ends the other processes, and their calls would fail with ENOSYS
			 * in between: a background process could still print that error. So they are killed first. */
			if (confines) kill_descendants();
			else CALL(kill, -1, SIGKILL);
			/* As bubblewrap says it: the exit code, or 128 and the signal. */
			leave((status & 0x7f) == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f));
		}
		for (int at = worker_count - 1; at >= 0; at--) {
			if (workers[at].pid != pid) continue;
			/* Without effect when it has answered. */
			answer(&workers[at].caller, -ERESTARTSYS);
			forget_worker(at);
		}
	}
}

static void supervise(long program)
{
	struct seccomp_notif request;
	__u64 children = 1UL << (SIGCHLD - 1);
	char information[128];
	CALL(rt_sigprocmask, SIG_BLOCK, &children, 0, sizeof children);
	long signals = CALL(signalfd4, -1, &children, sizeof children, O_CLOEXEC | O_NONBLOCK);
	if (signals < 0) fail("signals cannot be read", "");
	/* What ended before signals were kept. */
	reap(program);
	for (;;) {
		struct pollfd sources[] = { { .fd = listener, .events = POLLIN }, { .fd = (int)signals, .events = POLLIN } };
		struct { long seconds, nanoseconds; } pause = { 0, 50000000 };
		CALL(ppoll, sources, 2, worker_count > 0 ? &pause : 0, 0, 0);
		if (sources[1].revents != 0) {
			while (CALL(read, signals, information, sizeof information) > 0);
			reap(program);
		}
		if (worker_count > 0) look_after_workers();
		if (!(sources[0].revents & POLLIN)) continue;
		memset(&request, 0, sizeof request);
		if (CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) continue;
		struct caller caller = { .id = request.id, .tid = request.pid };
		long result = perform(&caller, &request.data);
		if (result != LATER) answer(&caller, result);
	}
}

static void read_arguments(char **argv, char ***program)
{
	while (*argv != 0 && !equal(*argv, "--")) {
		if (equal(*argv, "--report") && argv[1] != 0) report_fd = (int)number_of(*++argv);
		else if (equal(*argv, "--confine")) confines = 1;
		else if (equal(*argv, "--tasks") && argv[1] != 0) max_tasks = number_of(*++argv);
		else if (equal(*argv, "--proxy") && argv[1] != 0) proxy_port = (int)number_of(*++argv);
		else if (equal(*argv, "--read") && argv[1] != 0 && readable_count < MAX_RULES) readable[readable_count++] = *++argv;
		else if (equal(*argv, "--write") && argv[1] != 0 && writable_count < MAX_RULES) writable[writable_count++] = *++argv;
		else if (equal(*argv, "--open") && argv[1] != 0 && opened_count < MAX_RULES) opened_directories[opened_count++] = *++argv;
		else if (equal(*argv, "--deny") && argv[1] != 0 && denied_count < MAX_RULES) denied[denied_count++] = *++argv;
		else if (equal(*argv, "--report-to") && argv[1] != 0)
			report_fd = (int)CALL(openat, AT_FDCWD, *++argv, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		else if (equal(*argv, "--git") && argv[1] != 0 && git_root_count < MAX_RULES) git_roots[git_root_count++] = *++argv;
		else if (equal(*argv, "--name") && argv[1] != 0 && argv[2] != 0 && rule_count < MAX_RULES) {
			rules[rule_count].directory = *++argv;
			rules[rule_count++].name = *++argv;
		} else fail("unknown argument, or too many rules: ", *argv);
		argv++;
	}
	if (*argv == 0 || argv[1] == 0) fail("there is no program to start", "");
	*program = argv + 1;
}

static int open_at_start(const char *path, int number)
{
	long fd = CALL(openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (fd != number && CALL(dup3, fd, number, O_CLOEXEC) < 0)) fail("cannot open ", path);
	if (fd != number) CALL(close, fd);
	return number;
}

__attribute__((noreturn, used)) void start(long *stack)
{
	char **argv = (char **)(stack + 1), **env = argv + stack[0] + 1, **program_argv;
	struct statx stat;
	struct seccomp_notif_sizes sizes;
	if (stack[0] == 2 && equal(argv[1], "--landlock-abi")) {
		char text[24] = "";
		append_number(text, sizeof text, (ulong)landlock_version());
		append(text, sizeof text, "\n");
		CALL(write, 1, text, length(text));
		leave(0);
	}
	read_arguments(argv + 1, &program_argv);
	/* Descriptors: 0 to 2 are the command's, 3 the report, 4 /proc, 5 the listener, 6 the root. No other is inherited. */
	if (report_fd >= 0) {
		if (report_fd != 3 && CALL(dup3, report_fd, 3, O_CLOEXEC) < 0) fail("the report cannot be opened", "");
		CALL(fcntl, 3, F_SETFD, FD_CLOEXEC);
		report_fd = 3;
	}
	CALL(close_range, report_fd < 0 ? 3 : 4, ~0U, 0);
	if (CALL(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail("it cannot protect itself", "");
	proc_fd = open_at_start("/proc", 4);
	root_fd = open_at_start("/", 6);
	listener = LISTENER;
	own_pid = CALL(getpid, 0);
	/* When the program ends, every other process is killed: in a namespace of its own, those are the command's. */
	if (!confines && own_pid != 1) fail("it is not the first process of its namespace", "");
	if (stat_at(proc_fd, "", &stat) < 0 || !is_proc(proc_fd, &stat)) fail("/proc is not there", "");
	proc_major = stat.stx_dev_major;
	proc_minor = stat.stx_dev_minor;
	if (CALL(seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 || sizes.seccomp_notif > sizeof(struct seccomp_notif) ||
		sizes.seccomp_notif_resp > sizeof(struct seccomp_notif_resp) || sizes.seccomp_data > sizeof(struct seccomp_data))
		fail("the kernel has no user notification for system calls that is known here", "");
	read_mounts();
	read_rules();
	if (confines) confine_self();
	/* The guard waits until the program has replaced its process: then the listener is in the guard's table alone. */
	long program = CALL(clone, CLONE_VFORK | CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (program == 0) start_program(program_argv, env);
	if (program < 0) fail("no process can be started", "");
	CALL(chdir, "/");
	CALL(ioctl, listener, IOCTL_SET_FLAGS, SYNC_WAKE_UP);
	supervise(program);
	leave(125);
}

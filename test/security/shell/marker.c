/*
 * A marker command of the fuzzer: appends its directory, its name and its arguments to the file $FUZZ_LOG, and exits with 0 or 1 by the
 * last digit of its name. Starts in a fraction of the time that a shell script takes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[1 << 20];
static size_t size;

static void add(const char *more, char end)
{
	for (; *more != 0 && size < sizeof text - 2; more++) text[size++] = *more;
	text[size++] = end;
}

int main(int argc, char **argv)
{
	char path[4096] = "", exe[4096] = "";
	const char *log = getenv("FUZZ_LOG");
	if (getcwd(path, sizeof path) == NULL || readlink("/proc/self/exe", exe, sizeof exe - 1) < 0) return 2;
	const char *name = strrchr(exe, '/') + 1;
	add(path, 0x1f);
	add(name, argc > 1 ? 0x1f : 0x1e);
	for (int at = 1; at < argc && size < sizeof text / 2; at++) add(argv[at], at + 1 < argc ? 0x1f : 0x1e);
	int fd = log == NULL ? -1 : open(log, O_WRONLY | O_APPEND);
	/* One write for each call: several may be logging at once. */
	if (fd < 0 || write(fd, text, size) < 0) return 2;
	return (name[strlen(name) - 1] - '0') % 2;
}

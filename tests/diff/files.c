#define _GNU_SOURCE
#include "files.h"
#include "interp.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char words[] = "pages are mapped not copied and the mapping is the proof ";

static void fill_bytes(char *p, size_t n, int fill, uint64_t seed)
{
	uint64_t state = seed, w;

	for (size_t i = 0; i < n; i += 8) {
		w = pw_random(&state) | 0x0101010101010101u;
		memcpy(p + i, &w, n - i < 8 ? n - i : 8);
	}
	if (fill == PW_FILL_ZERO)
		memset(p, 0, n);
	if (fill == PW_FILL_TEXT)
		for (size_t i = 0; i < n; i++)
			p[i] = p[i] % 23 ? words[(i + seed) % (sizeof(words) - 1)] : '\n';
}

static bool make_file(int dir, const char *name, const struct pw_file *f)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	size_t n = f->size;
	char *p;
	bool good;

	if (fd < 0)
		return false;
	if (f->fill == PW_FILL_HOLES) {
		/* One page of data in every four. */
		n = 4096;
		p = malloc(n);
		fill_bytes(p, n, PW_FILL_NONZERO, f->seed);
		good = !ftruncate(fd, f->size);
		for (int64_t at = 0; good && at + 4096 <= f->size; at += 16384)
			good = pwrite(fd, p, n, at) == (ssize_t)n;
	} else {
		p = malloc(n + 1);
		fill_bytes(p, n, f->fill, f->seed);
		good = write(fd, p, n) == (ssize_t)n;
	}
	free(p);
	close(fd);
	return good;
}

bool pw_files_make(const char *path, const struct pw_prog *p)
{
	bool good = true;
	int dir;

	pw_files_remove(path);
	if (mkdir(path, 0755))
		return false;
	dir = open(path, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return false;
	good = !mkdirat(dir, pw_file_names[PW_DIR], 0755) &&
	       !mkfifoat(dir, pw_file_names[PW_FIFO], 0644);
	for (int i = 0; good && i < PW_REGULAR; i++)
		if (p->file[i].there)
			good = make_file(dir, pw_file_names[i], &p->file[i]);
	close(dir);
	return good;
}

/*
 * Files may be sparse and huge: only what the file system calls data is read.
 * Zeros are left out of the hash, and the place of the others is put into it,
 * so that it does not matter where the file system keeps its holes.
 */
static uint64_t hash_file(int fd, off_t size)
{
	static char buf[65536];
	static const char zeros[sizeof(buf)];
	uint64_t h = 0;
	off_t at = 0;
	ssize_t n;

	while (at < size && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		at &= ~(off_t)(sizeof(buf) - 1);
		n = pread(fd, buf, sizeof(buf), at);
		if (n <= 0)
			break;
		if (memcmp(buf, zeros, n))
			h = h * 31 + pw_hash(buf, n) + at;
		at += n;
	}
	return h;
}

static void tell_dir(FILE *to, int dir, const char *prefix)
{
	struct dirent **names;
	int n = scandirat(dir, ".", &names, NULL, alphasort);
	struct stat st;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (strcmp(name, ".") && strcmp(name, "..") &&
		    !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
			fprintf(to, "file %s%s: mode=%o links=%d", prefix, name,
				st.st_mode, S_ISREG(st.st_mode) ? (int)st.st_nlink : 0);
			if (S_ISREG(st.st_mode)) {
				int fd = openat(dir, name, O_RDONLY);

				fprintf(to, " size=%lld h=%08x", (long long)st.st_size,
					(unsigned int)hash_file(fd, st.st_size));
				close(fd);
			}
			fprintf(to, "\n");
			if (S_ISDIR(st.st_mode)) {
				int sub = openat(dir, name, O_RDONLY);

				tell_dir(to, sub, "d0/");
				close(sub);
			}
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

char *pw_files_tell(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int dir = open(path, O_RDONLY | O_DIRECTORY);

	tell_dir(to, dir, "");
	close(dir);
	fclose(to);
	return text;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void pw_files_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/*
 * The memory that steps read into and write from, and what the trace says
 * about it. Areas that a step may have unmapped are looked at through
 * process_vm_readv, which fails where a load would kill.
 */
#define _GNU_SOURCE
#include "interp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
/* So many bytes behind a buffer are watched for being left alone. */
#define MARGIN 64u
#define PATTERN 0xa5

static char static_area[PW_B_SIZE + MARGIN] __attribute__((aligned(PAGE)));
static __thread char thread_area[PW_S_SIZE + MARGIN];
static const char rodata_area[PAGE] __attribute__((aligned(PAGE))) = "read only";
/* One for handlers: what they interrupt may be a write. */
static char sources[2][PW_BYTES_MAX];
__thread bool pw_buf_lenient;

uint64_t pw_hash(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint64_t h = 0x9ae16a3b2f90404fu ^ n, w;

	for (; n >= 8; n -= 8, c += 8) {
		memcpy(&w, c, 8);
		h = (h ^ w) * 0x9fb21c651e98df25u;
		h ^= h >> 29;
	}
	for (; n; n--, c++)
		h = (h ^ *c) * 0x100000001b3u;
	h ^= h >> 32;
	return h * 0x9fb21c651e98df25u;
}

bool pw_buf_get(struct pw_buf *b, int64_t arg, int64_t size)
{
	int64_t off = PW_BUF_OFF(arg);

	*b = (struct pw_buf){.size = size, .area = PW_BUF_AREA(arg)};
	switch (b->area) {
	case PW_AREA_B:
		b->plain = true;
		b->p = static_area + off;
		if (size < 0 || off + size > (int64_t)PW_B_SIZE)
			return false;
		break;
	case PW_AREA_S:
		b->plain = true;
		b->p = thread_area + off;
		if (size < 0 || off + size > PW_S_SIZE)
			return false;
		break;
	case PW_AREA_H:
		b->plain = true;
		if (size < 0 || size > (int64_t)PW_B_SIZE || off > PAGE)
			return false;
		b->heap = malloc(off + size + MARGIN);
		b->p = (char *)b->heap + off;
		break;
	case PW_AREA_M:
		b->p = PW_M_BASE + off;
		break;
	case PW_AREA_F:
		b->p = PW_F_BASE + off;
		break;
	case PW_AREA_NULL:
		b->p = (char *)off;
		break;
	case PW_AREA_KERN:
		b->p = (char *)0xffff888000000000u + off;
		break;
	case PW_AREA_WRAP:
		b->p = (char *)-(intptr_t)(off + 1);
		break;
	default:
		b->p = (char *)rodata_area + off;
		break;
	}
	if (b->plain)
		memset(b->p, PATTERN, size + MARGIN);
	return true;
}

void pw_buf_put(struct pw_buf *b)
{
	free(b->heap);
}

/* Page by page, so that what can be read is read. */
static size_t peek(char *to, const char *from, size_t n)
{
	size_t done = 0, part;
	struct iovec local, remote;

	while (done < n) {
		part = PAGE - ((uintptr_t)(from + done) & (PAGE - 1));
		if (part > n - done)
			part = n - done;
		local = (struct iovec){to + done, part};
		remote = (struct iovec){(char *)from + done, part};
		if (PW_RAW6(SYS_process_vm_readv, PW_RAW0(SYS_getpid), &local, 1, &remote,
			    1, 0) != (long)part)
			memset(to + done, 0, part);
		done += part;
	}
	return done;
}

static const char *tell(char *out, size_t size, const char *bytes, int64_t n)
{
	int at = snprintf(out, size, "h=%08x [", (unsigned int)pw_hash(bytes, n));

	for (int i = 0; i < n && i < 8; i++)
		at += snprintf(out + at, size - at, "%02x", (unsigned char)bytes[i]);
	snprintf(out + at, size - at, n > 8 ? "…]" : "]");
	return out;
}

const char *pw_buf_tell(const struct pw_buf *b, int64_t n)
{
	static __thread char text[128];
	size_t at, i, end;
	char *seen = NULL;

	text[0] = 0;
	if (b->area == PW_AREA_M || b->area == PW_AREA_F) {
		end = b->size + MARGIN;
		if (b->size > PW_M_PAGES * PAGE)
			end = PW_M_PAGES * PAGE;
		seen = (char *)PW_RAW6(SYS_mmap, 0, end, 3, 0x22, -1, 0);
		peek(seen, b->p, end);
		if (n < 0 || n > (int64_t)end)
			n = 0;
		tell(text, sizeof(text), seen, n);
		at = strlen(text);
		snprintf(text + at, sizeof(text) - at, " rest=%08x",
			 (unsigned int)pw_hash(seen + n, end - n));
		PW_RAW2(SYS_munmap, seen, end);
		return text;
	}
	if (!b->plain)
		return text;
	if (n < 0)
		n = 0;
	if (n > (int64_t)b->size)
		return "MORE THAN ASKED FOR";
	if (n)
		tell(text, sizeof(text), b->p, n);
	/* What lies behind the buffer is never touched. */
	for (i = pw_buf_lenient ? b->size : (size_t)n, end = b->size + MARGIN; i < end;
	     i++)
		if ((unsigned char)b->p[i] != PATTERN) {
			at = strlen(text);
			snprintf(text + at, sizeof(text) - at,
				 " touched from %zu rest=%08x", i,
				 (unsigned int)pw_hash(b->p + n, end - n));
			break;
		}
	return text;
}

const char *pw_bytes(int64_t size, uint64_t seed)
{
	char *source = sources[pw_in_handler];
	uint64_t state = seed;

	if (size < 0 || size > PW_BYTES_MAX)
		size = PW_BYTES_MAX;
	if (seed % 11 == 0) {
		memset(source, 0, size);
		return source;
	}
	for (int64_t i = 0; i < size; i += 8) {
		uint64_t w = pw_random(&state) | 0x0101010101010101u;

		memcpy(source + i, &w, size - i < 8 ? size - i : 8);
	}
	/* Some lines, for those who read by the line. */
	for (int64_t i = 40; i < size; i += 40 + seed % 50)
		source[i] = '\n';
	return source;
}

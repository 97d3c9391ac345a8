/* stat_text.c - the picture as a table for people. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cache/command/say.h"
#include "cache/command/stat.h"
#include "cache/command/text.h"

/* pid, command, state, the counters, and the size after the pages. */
#define COLUMNS (3 + PW_S_COUNT + 1)
#define ROWS (1 + PW_SLOTS + 2)
#define CELL PW_TEXT_SIZE

static char table[ROWS][COLUMNS][CELL];

static void put_name(char out[CELL], const char *name)
{
	int i = 0;

	for (; i < CELL - 1 && name[i]; i++)
		out[i] = name[i] == '_' ? '-' : (char)toupper((unsigned char)name[i]);
	out[i] = 0;
}

static void put_row(char row[COLUMNS][CELL], const char *pid, const char *comm,
		    const char *state, const uint64_t n[PW_S_COUNT])
{
	int at = 0;
	uint64_t bytes;

	snprintf(row[at++], CELL, "%s", pid);
	snprintf(row[at++], CELL, "%s", comm);
	snprintf(row[at++], CELL, "%s", state);
	for (int i = 0; i < PW_S_COUNT; i++) {
		if (i == PW_S_HIT_BYTES)
			pw_text_size(row[at++], n[i]);
		else
			snprintf(row[at++], CELL, "%llu", (unsigned long long)n[i]);
		if (i != PW_S_PAGES)
			continue;
		if (__builtin_mul_overflow(n[i], PW_CP, &bytes))
			bytes = UINT64_MAX;
		pw_text_size(row[at++], bytes);
	}
}

static void put_head(char row[COLUMNS][CELL])
{
	int at = 3;

	strcpy(row[0], "PID");
	strcpy(row[1], "COMMAND");
	strcpy(row[2], "STATE");
	for (int i = 0; i < PW_S_COUNT; i++) {
		put_name(row[at++], pw_stat_name[i]);
		if (i == PW_S_PAGES)
			strcpy(row[at++], "SIZE");
	}
}

static void print_table(uint32_t rows)
{
	int width[COLUMNS] = {0};

	for (uint32_t r = 0; r < rows; r++)
		for (int c = 0; c < COLUMNS; c++)
			if ((int)strlen(table[r][c]) > width[c])
				width[c] = (int)strlen(table[r][c]);
	for (uint32_t r = 0; r < rows; r++) {
		for (int c = 0; c < COLUMNS; c++) {
			bool words = c == 1 || c == 2;

			printf("%s%*s", c ? "  " : "", words ? -width[c] : width[c],
			       table[r][c]);
		}
		putchar('\n');
	}
}

void pw_stat_text(const struct pw_picture *p)
{
	char path[PATH_MAX];
	char bytes[CELL];
	uint32_t rows = 0;

	pw_clean(path, sizeof(path), p->path, PATH_MAX);
	pw_text_size(bytes, PW_SEGMENT_BYTES);
	printf("segment  %s, %s\n", path, bytes);
	if (p->costs.map)
		printf("costs    %u ns a call, %u ns a page's first touch, %u ns a "
		       "window\n",
		       p->costs.call, p->costs.touch, p->costs.map);
	else
		printf("costs    not measured yet\n");
	printf("words    %u up to date, %u locked, %u with waiters, of %u\n", p->uptodate,
	       p->locked, p->waiters, PW_WORDS);
	printf("files    %u known, of %u\n\n", p->files, PW_FILES);

	put_head(table[rows++]);
	for (uint32_t i = 0; i < p->processes; i++) {
		const struct pw_process *q = &p->process[i];
		char pid[CELL];

		snprintf(pid, sizeof(pid), "%u", q->pid);
		put_row(table[rows++], pid, q->comm, pw_state_name[q->state], q->n);
	}
	put_row(table[rows++], "past", "-", "ended", p->past);
	put_row(table[rows++], "all", "-", "-", p->all);
	print_table(rows);
}

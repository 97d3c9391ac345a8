/* top_screen.c - pagewell top on a terminal. */
#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/command/text.h"
#include "cache/command/top.h"

#define HEAD_AT (PW_TOP_SUMMARY + 1) /* under an empty line */
#define FIRST_AT (HEAD_AT + 1)
#define BESIDES (FIRST_AT + 1) /* rows that are no lines: the keys are the last */

static const struct {
	int key;
	const char *name;
} keys[PW_TOP_ORDERS] = {
	[PW_TOP_RATE] = {'h', "hits"},	       [PW_TOP_WINDOWS] = {'w', "windows"},
	[PW_TOP_MEMORY] = {'m', "memory"},     [PW_TOP_WAITS] = {'a', "waits"},
	[PW_TOP_RECLAIMS] = {'r', "reclaims"}, [PW_TOP_PID] = {'p', "pid"},
};

static volatile sig_atomic_t asked_to_end;

static void end(int sig)
{
	(void)sig;
	asked_to_end = 1;
}

/* A row of text, as wide as the screen at the most. */
static void put(int y, int x, const char *text)
{
	char fits[4096];
	size_t n = (size_t)(COLS - x) + 1;

	if (y >= LINES || x >= COLS)
		return;
	/* Whole characters; a byte is a column, or less of one. */
	pw_text_copy(fits, n < sizeof(fits) ? n : sizeof(fits), text);
	mvaddstr(y, x, fits);
}

static void put_keys(const struct pw_top *t)
{
	int x = 0;

	move(LINES - 1, 0);
	for (int i = 0; i < PW_TOP_ORDERS; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%c %s", keys[i].key, keys[i].name);
		attrset(t->order == (enum pw_top_order)i ? A_REVERSE : A_NORMAL);
		put(LINES - 1, x, text);
		x += (int)strlen(text);
		attrset(A_NORMAL);
		put(LINES - 1, x, "  ");
		x += 2;
	}
	put(LINES - 1, x, t->files ? "f processes  q quit" : "f files  q quit");
}

static void draw(const struct pw_top *t, size_t first, bool colours)
{
	char text[4096];

	erase();
	for (int i = 0; i < PW_TOP_SUMMARY; i++) {
		pw_top_summary(t, i, text, sizeof(text));
		if (i == 0 && t->trouble[0])
			attrset(colours ? COLOR_PAIR(1) | A_BOLD : A_BOLD);
		put(i, 0, text);
		attrset(A_NORMAL);
	}
	pw_top_head(t, text, sizeof(text));
	attrset(A_REVERSE);
	put(HEAD_AT, 0, text);
	for (int x = (int)strlen(text); x < COLS && HEAD_AT < LINES; x++)
		mvaddch(HEAD_AT, x, ' ');
	attrset(A_NORMAL);
	for (size_t i = first; i < t->lines && (int)(i - first) + BESIDES < LINES; i++) {
		pw_top_format(t, &t->line[i], text, sizeof(text));
		if (t->line[i].rate > 0)
			attrset(colours ? COLOR_PAIR(2) : A_BOLD);
		put(FIRST_AT + (int)(i - first), 0, text);
		attrset(A_NORMAL);
	}
	put_keys(t);
	refresh();
}

/* Where the lines on the screen begin. */
static size_t move_to(const struct pw_top *t, size_t first, long by)
{
	long page = LINES - BESIDES > 1 ? LINES - BESIDES : 1;
	long last = (long)t->lines - page;
	long to = (long)first + by;

	if (to > last)
		to = last;
	return to > 0 ? (size_t)to : 0;
}

/* False: quit. */
static bool heed(struct pw_top *t, int key, size_t *first)
{
	long page = LINES - BESIDES;

	if (key == 'q' || key == 'Q')
		return false;
	if (key == 'f') {
		t->files = !t->files;
		*first = 0;
	}
	for (int i = 0; i < PW_TOP_ORDERS; i++)
		if (key == keys[i].key)
			t->order = (enum pw_top_order)i;
	pw_top_arrange(t);
	switch (key) {
	case KEY_DOWN:
		*first = move_to(t, *first, 1);
		break;
	case KEY_UP:
		*first = move_to(t, *first, -1);
		break;
	case KEY_NPAGE:
		*first = move_to(t, *first, page);
		break;
	case KEY_PPAGE:
		*first = move_to(t, *first, -page);
		break;
	case KEY_HOME:
		*first = 0;
		break;
	case KEY_END:
		*first = move_to(t, 0, (long)t->lines);
		break;
	default:
		*first = move_to(t, *first, 0); /* the screen may have grown */
	}
	return true;
}

static void run(struct pw_top *t, double seconds, unsigned long count, bool colours)
{
	size_t first = 0;

	for (unsigned long i = 0; !asked_to_end && (!count || i < count); i++) {
		int64_t next;

		pw_top_take(t);
		first = move_to(t, first, 0);
		next = t->taken + (int64_t)(seconds * 1e9);
		for (;;) {
			int64_t left = next - pw_sys->now_ns();
			int key;

			draw(t, first, colours);
			if (asked_to_end || left <= 0)
				break;
			timeout((int)(left / 1000000) + 1);
			key = getch();
			if (key != ERR && !heed(t, key, &first))
				return;
		}
	}
}

int pw_top_screen(struct pw_top *t, double seconds, unsigned long count)
{
	struct sigaction sa = {.sa_handler = end};
	const char *no = getenv("NO_COLOR");
	bool colours;
	SCREEN *s = newterm(NULL, stdout, stdin);

	if (!s)
		return -1;
	/* So that the terminal is put back. */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	colours = !(no && *no) && has_colors() && start_color() == OK &&
		  use_default_colors() == OK;
	if (colours) {
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
	}
	run(t, seconds, count, colours);
	endwin();
	delscreen(s);
	return 0;
}

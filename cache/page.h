/*
 * page.h - the words of cache pages and what is done with them: who brings a page in, who
 * waits for it, and for how long at the most.
 */
#ifndef PW_CACHE_PAGE_H
#define PW_CACHE_PAGE_H

#include "cache/segment.h"

/*
 * How long a reader sleeps on a word before it stops caring. Longer than any healthy read
 * from a disk; what a stopped owner costs each passer-by, once (see pw_page_begin).
 */
#define PW_PAGE_DEADLINE_NS 50000000

enum pw_page_state {
	PW_PAGE_TOUCH, /* touch it: somebody has it in, or nobody can tell */
	PW_PAGE_MINE,  /* bring it in, then pw_page_end() */
	PW_PAGE_LATE, /* the deadline passed: touch it, and do not wait again this pass */
};

/*
 * First touch of cache page `cp` of file `id` by this process. May sleep while another
 * process brings the page in, unless `wait` is false: then its lock is taken from it at once.
 *
 * The caller holds no lock and no word: a thread never holds two.
 */
enum pw_page_state pw_page_begin(uint64_t id, uint64_t cp, bool wait);

/* Ends PW_PAGE_MINE; uptodate: the page is in. Wakes who waits. */
void pw_page_end(uint64_t id, uint64_t cp, bool uptodate);

/*
 * For who works on a segment from outside (the command). What is said of cache page `cp` of
 * file `id` is forgotten, unless somebody is bringing it in. True: something was.
 */
bool pw_page_forget(const struct pw_segment *s, uint64_t id, uint64_t cp);

/*
 * Word number `at`, below PW_WORDS, if it still is `seen`, becomes free. Locked: it is taken
 * from its owner, as after a deadline. Who sleeps there is woken. True: it was done.
 */
bool pw_page_free(const struct pw_segment *s, uint32_t at, uint32_t seen);

#endif

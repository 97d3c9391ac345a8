/*
 * page_word.pml - the page word (cache/word.h), waiting on it (cache/page.c, cache/futex.h)
 * and what a kernel does with who sleeps there.
 *
 * One word, two pages that meet in it, three processes. Each touches a page for the first
 * time, once or twice, and each time it may be either page. A step is one atomic access of
 * the word or one system call, with the decisions that follow from it. All that matters is
 * done by CAS, so there are no store buffers here.
 *
 *   label               mirrors
 *   begin, lock         pw_page_begin, pw_word_try_lock
 *   wait, want, sleep   wait_unlocked, pw_word_try_wait, pw_futex_sleep
 *   late_load, steal    steal, pw_word_try_steal
 *   filled, unlock      pw_page_end, pw_word_unlock
 *   fate                SIGKILL, SIGSTOP and SIGCONT, at any step of anybody
 *
 * Time. As a rule a deadline passes only when nobody can move (all sleep, are stopped, dead
 * or done): then it was *needed*, and that must be somebody's fault. Where it may pass at any
 * moment (`hasty`), as with owners that are slow, what is left to show is that a lock taken
 * away harms nobody.
 *
 * Properties:
 *  - no invalid end state: nobody sleeps for ever;
 *  - a deadline is needed only after somebody was killed or stopped, and by one sleeper for
 *    each who was, unless it happened between a change of the word and the wake it owed;
 *  - an unlock never ends another page's lock;
 *  - a lock that is left is a dead owner's, and the next who comes for that page ends it;
 *  - everybody finishes (ltl finishes, under weak fairness).
 *
 * Broken on purpose: NO_WAITERS_RECHECK, NO_COMPARE, NO_TAG, NO_STEAL, NO_STEAL_WAKE,
 * NO_DEADLINE.
 */
#define N 3 /* processes; one more comes when they are gone */
#define LAST N

/* The word: tag in its upper bits, 0 for a page that nobody has. */
#define LOCKED 1
#define UPTODATE 2
#define WAITERS 4
#define make(tag, bits) ((tag) * 8 + (bits))
#define tag_of(w) ((w) / 8)

byte word;
bool asleep[N + 1]; /* in the kernel's queue for the word */

bool killed[N + 1], stopped[N + 1], done[N + 1];
byte kills, stops;  /* that may still happen */
byte spurious;	    /* sleeps that may still end for no reason, such as a signal */
bool hasty;	    /* the deadline may pass at any moment */

/* For the properties only. */
byte owner;	  /* who locked the word, plus 1 */
bool owes[N + 1]; /* has changed a word with WAITERS, and not come to the wake */
bool excused;	  /* ... and was killed or stopped there */
byte hurt;	  /* kills and stops so far */
byte needed;	  /* deadlines that passed because nobody could move */

#define idle(i) (asleep[i] || stopped[i] || killed[i] || done[i])
#define quiet (idle(0) && idle(1) && idle(2)) /* the last one comes when they are gone */

/* A step of a process that is not stopped; of one that sleeps, or was woken. */
#define STEP atomic { !stopped[me] ->
#define STEP_WHEN(what) atomic { !stopped[me] && (what) ->
#define END }

inline wake_all()
{
	asleep[0] = false; asleep[1] = false; asleep[2] = false; asleep[LAST] = false;
	owes[me] = false
}

/* What a process forgets between two pages, so that equal states look equal. */
inline forget()
{
	seen = 0; late = false; uptodate = false; waiters = false
}

inline touch()
{
	STEP /* begin */
		seen = word;
		if
		:: tag_of(seen) == tag && (seen & UPTODATE) -> goto out
		:: tag_of(seen) == tag && !(seen & UPTODATE) && (seen & LOCKED) ->
			if
			:: no_wait -> goto late_load
			:: else -> goto wait
			fi
		:: tag_of(seen) != tag && (seen & LOCKED) -> goto out
		:: else -> skip
		fi
	END;
lock:	STEP
		if
		:: word == seen ->
			word = make(tag, LOCKED);
			owner = me + 1;
			goto filled
		:: else -> goto out
		fi
	END;

wait:	STEP
		seen = word;
		if
		:: !(seen & LOCKED) || tag_of(seen) != tag -> goto out
		:: else ->
			if
			:: seen & WAITERS -> goto sleep
			:: else -> skip
			fi
		fi
	END;
want:	STEP
		if
		:: word == seen -> word = seen | WAITERS
		:: else -> goto wait
		fi
	END;
sleep:	STEP
		/* How much time is left? */
		if
		:: late -> goto late_load
		:: !late && hasty -> late = true; goto late_load
		:: !late -> skip
		fi;
		/* FUTEX_WAIT compares under the lock that the waker takes, too. */
#ifndef NO_COMPARE
		if
		:: word != (seen | WAITERS) -> goto wait
		:: else -> skip
		fi;
#endif
		asleep[me] = true;
		seen = 0
	END;
	if
	:: STEP_WHEN(!asleep[me]) goto wait END
	:: STEP_WHEN(asleep[me] && hasty) asleep[me] = false; late = true; goto wait END
#ifndef NO_DEADLINE
	:: STEP_WHEN(asleep[me] && quiet)
		asleep[me] = false;
		late = true;
		needed++;
		assert(excused || needed <= hurt);
		goto wait
	   END
#endif
	:: STEP_WHEN(asleep[me] && spurious > 0)
		spurious--;
		asleep[me] = false;
		goto wait
	   END
	fi;

late_load:
	STEP
		no_wait = true; /* in this window, from now on */
		seen = word;
#ifdef NO_STEAL
		goto out
#else
		if
		:: tag_of(seen) == tag && (seen & LOCKED) -> skip
		:: else -> goto out
		fi
#endif
	END;
steal:	STEP
		if
		:: word == seen ->
			word = make(tag, 0);
			owner = 0;
#ifdef NO_STEAL_WAKE
			goto out
#else
			owes[me] = (seen & WAITERS) != 0
#endif
		:: else -> goto out
		fi
	END;
	STEP wake_all(); goto out END;

	/* The fill may fail, where the file has become shorter. */
filled:	STEP
		if
		:: uptodate = true
		:: uptodate = false
		fi;
		seen = word;
		waiters = (seen & WAITERS) != 0
	END;
unlock:	STEP
		if
#ifdef NO_TAG
		:: !(seen & LOCKED) -> goto out
#else
		:: tag_of(seen) != tag || !(seen & LOCKED) -> goto out
#endif
		:: else -> skip
		fi;
		if
		:: word == seen ->
			/* Mine, or, long after a theft, the same page's next owner's. */
			assert(owner == me + 1 || tag_of(word) == tag);
			word = make(tag, (uptodate -> UPTODATE : 0));
			owner = 0;
#ifndef NO_WAITERS_RECHECK
			waiters = (seen & WAITERS) != 0;
#endif
			if
			:: waiters -> owes[me] = true
			:: else -> goto out
			fi
		:: else -> seen = word; goto unlock
		fi
	END;
	STEP wake_all() END;
out:	skip
}

proctype process(byte me, left)
{
	byte tag, seen;
	bool late, uptodate, waiters, no_wait;

	{
		do
		:: atomic {
			left > 0 ->
			left--;
			forget();
			if
			:: tag = 1
			:: !(me == 0 && left == 1) -> tag = 2 /* the pages are alike */
			fi
		   }
		   touch()
		:: atomic { left == 0 -> forget(); tag = 0; no_wait = false; done[me] = true; break }
		od
	} unless {
		atomic { killed[me] -> forget(); tag = 0; no_wait = false; left = 0 }
	}
}

/* Comes when all others are done or dead. */
proctype last(byte me)
{
	byte tag, seen, left = 2;
	bool late, uptodate, waiters, no_wait;

	(done[0] || killed[0]) && (done[1] || killed[1]) && (done[2] || killed[2]);
	assert(!(word & LOCKED) || (owner && killed[owner - 1]));
	if
	:: tag = 1
	:: tag = 2
	fi;
	do
	:: left > 0 -> touch(); atomic { left--; tag = 3 - tag; forget() }
	:: else -> break
	od;
	assert(!(word & LOCKED));
	done[me] = true
}

#define living(i) (!killed[i] && !done[i])

inline kill(i)
{
	atomic {
		kills > 0 && living(i) ->
		kills--;
		hurt++;
		killed[i] = true;
		stopped[i] = false;
		asleep[i] = false;
		excused = excused || owes[i]
	}
}

inline stop(i)
{
	atomic {
		stops > 0 && living(i) ->
		stops--;
		hurt++;
		stopped[i] = true;
		excused = excused || owes[i]
	}
}

inline resume(i)
{
	atomic { stopped[i] -> stopped[i] = false }
}

proctype fate()
{
end:	do
	:: kill(0)
	:: kill(1)
	:: kill(2)
	:: stop(0)
	:: stop(1)
	:: stop(2)
	:: resume(0)
	:: resume(1)
	:: resume(2)
	od
}

/* In make check only the mixtures named below; with -DALL a larger one. */
init {
	byte first = 2, second = 1, third = 1; /* pages that each touches */

	atomic {
		if
#if defined(ALL)
		:: kills = 1; stops = 1; spurious = 1; second = 2; third = 2
		:: hasty = true; second = 2; third = 2
#elif defined(LTL)
		:: kills = 1; first = 1
		:: stops = 1; first = 1
#else
		:: stops = 1
		:: kills = 1
		:: kills = 1; stops = 1; first = 1
		:: spurious = 1; second = 2
		:: hasty = true
#endif
		fi;
		run process(0, first);
		run process(1, second);
		run process(2, third);
		run last(LAST);
		run fate()
	}
}

ltl finishes { <> done[LAST] }

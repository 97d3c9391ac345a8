/*
 * hazard.pml - hazard slots (cache/hazard.h, hazard.c), a window's life (cache/window.c), and
 * the handle that lives as long (shim/handle.c, fdtable.c, numbers.c).
 *
 * One handle with its window, two numbers. Stores wait in a buffer of their thread until they
 * are seen by others, as on x86: a load looks into its own thread's buffer first; a locked
 * instruction (CAS, exchange, or, and, add) or a full fence waits until it is empty. So a fence
 * that is left out is missed. A step is one access or one system call, with the decisions that
 * follow from it.
 *
 *   label            mirrors
 *   enter            pw_fd_entry, pw_hazard_enter, pw_hazard_fill, the second look at the entry
 *   hit              pw_window_read
 *   open             pw_window_open, with `same`
 *   refresh, doubt   pw_window_refresh, pw_window_doubt
 *   leave            pw_hazard_clear, pw_window_leave
 *   retire, finish   pw_window_retire, pw_window_finish
 *   claim            claim; look_through: pw_hazard_held
 *   dead             pw_window_dead, which is reuse() in shim/handle.c
 *   close            pw_fd_clear, pw_handle_unref (pw_drop: the rest is in position.pml)
 *   make             pw_handle_new, pw_fd_set
 *   dup              pw_duplicated
 *   drop             pw_windows_drop
 *
 * Properties:
 *  - what a reader copies from is mapped from the first byte to the last;
 *  - a handle is used again only when nobody is inside who found its entry unchanged, and when
 *    no number stands for it;
 *  - in the end nothing is left half done: a window is mapped if and only if it is live, no
 *    window is live whose handle has no number, and such a handle is free.
 *
 * Who runs: three threads; or with -DHANDLER two and a signal handler; or with -DALONE one and
 * two handlers, one over the other, without fences and locked stores where such a process does
 * without. What they do is chosen in init.
 *
 * Broken on purpose: NO_FENCE_FILL, NO_FENCE_CLEAR, NO_FENCE_CLAIM, NO_RELOAD, NO_SECOND_LOOK,
 * ONE_SLOT. Found in the code by this model, and mended: NO_GENERATION, DEAD_AT_ONCE,
 * REF_FROM_ZERO (README.md).
 */
#define FRAMES 3
#if defined(ALONE)
#define THREADS 1
#define thread_of(f) 0
#define level_of(f) (f)
#elif defined(HANDLER)
#define THREADS 2
#define thread_of(f) ((f) / 2)
#define level_of(f) ((f) == 1)
#else
#define THREADS 3
#define thread_of(f) (f)
#define level_of(f) 0
#endif

/* What lies in memory and is stored to without a locked instruction. */
#define KNOWN 0
#define BASE 1
#define SLOT(i) (2 + (i)) /* as many as frames; a thread has those of its own frames */
byte mem[2 + FRAMES];

/* A thread's stores that others do not see yet, oldest first: cell and value in one byte. */
#define DEPTH 3
byte buffer[THREADS * DEPTH];
byte waiting[THREADS];
#define stored(cell, value) ((cell) * 8 + (value))
#define at(i) buffer[t * DEPTH + (i)]

/* The window's state; above the bits, the generation. */
#define OPENING 1
#define LIVE 2
#define DYING 4
#define CLOSING 8
#define DEAD 16
#define BITS 31
#define GENERATION 32
byte state;

/* The numbers: bit 0, the handle stands there; above, a tag. */
byte entry[2];
byte refs;
bool free;

/* Which frame of a thread runs, and whether it has its signals blocked. */
byte top[THREADS];
bool blocked[THREADS];

/* For the properties only. */
bool mapped[5]; /* by mapping: base is 1, 2, ... */
byte mappings;
byte inside; /* frames that found the entry unchanged, and still have the slot */
byte ended;

#define STEP atomic { top[t] == level ->
#define LOCKED_STEP atomic { top[t] == level && waiting[t] == 0 ->
#define STORE_STEP atomic { top[t] == level && waiting[t] < DEPTH ->
#define END }

inline load(cell, to)
{
	to = mem[cell];
	if
	:: waiting[t] > 0 && at(0) / 8 == cell -> to = at(0) % 8
	:: else -> skip
	fi;
	if
	:: waiting[t] > 1 && at(1) / 8 == cell -> to = at(1) % 8
	:: else -> skip
	fi;
	if
	:: waiting[t] > 2 && at(2) / 8 == cell -> to = at(2) % 8
	:: else -> skip
	fi
}

inline store(cell, value)
{
	at(waiting[t]) = stored(cell, value);
	waiting[t]++
}

/* The memory takes its time. */
proctype drain(byte t)
{
end:	do
	:: d_step {
		waiting[t] > 0 ->
		mem[at(0) / 8] = at(0) % 8;
		at(0) = at(1);
		at(1) = at(2);
		at(2) = 0;
		waiting[t]--
	   }
	od
}

/* Looks through the slots, one after the other, and says where to go on. In its own a thread
 * finds what it left there, if no handler comes between. */
#if THREADS == FRAMES
#define pass_over_own if :: i == f && mem[SLOT(i)] == 0 -> i++ :: else -> skip fi
#else
#define pass_over_own skip
#endif
#define look_through(if_held, if_not)                      \
	do                                                 \
	:: STEP                                            \
		pass_over_own;                             \
		if                                         \
		:: i < FRAMES -> load(SLOT(i), b); i++     \
		:: else -> skip                            \
		fi;                                        \
		pass_over_own;                             \
		if                                         \
		:: b -> b = 0; i = 0; goto if_held         \
		:: !b && i == FRAMES -> i = 0; goto if_not \
		:: else -> skip                            \
		fi                                         \
	   END                                             \
	od

/* What a frame does, up to three, one after the other. */
#define NOTHING 0
#define HIT 1
#define OPEN 2
#define REFRESH 3
#define DOUBT 4
#define OUTGROW 5 /* the file has outgrown its window, or the window is no gain */
#define CLOSE 6
#define DUP 7
#define MAKE 8
#define DROP 9

proctype frame(byte f, op, second, third)
{
	byte t = thread_of(f);
	byte level = level_of(f);
	byte number, seen, found, slot, b, i;
	bool last, within;

	if
	:: level > 0 ->
		/* The signal comes at any moment, or never. */
		if
		:: atomic { top[t] == level - 1 && !blocked[t] -> top[t] = level }
		:: atomic { ended++; op = NOTHING; second = NOTHING; third = NOTHING; goto undelivered }
		fi
	:: else
	fi;

begin:	if
	:: op == NOTHING -> goto over
	:: op == MAKE -> goto make
	:: op == DROP -> goto drop
	:: op == CLOSE -> goto close
	:: else
	fi;

	/* ---- enter ---- */
	STEP
		found = entry[0];
		if
		:: !(found & 1) -> goto next
		:: else -> slot = f
		fi
	END;
#ifdef ONE_SLOT
	STEP slot = 0 END;
#elif defined(ALONE)
	/* the first of its slots that is free */
	STEP
		load(SLOT(0), b);
		slot = (b -> 1 : 0)
	END;
	if
	:: slot == 1 ->
		STEP
			load(SLOT(1), b);
			slot = (b -> 2 : 1)
		END
	:: else
	fi;
#elif defined(HANDLER)
	if
	:: f == 1 -> STEP load(SLOT(0), b); slot = (b -> 1 : 0) END
	:: else
	fi;
#endif
#ifdef NO_RELOAD
	STEP load(KNOWN, seen) END;
#endif
#if defined(ALONE) || defined(NO_FENCE_FILL)
	STORE_STEP store(SLOT(slot), 1); b = 0 END;
#else
	LOCKED_STEP mem[SLOT(slot)] = 1; b = 0 END;
#endif
	STEP
		if
		:: entry[0] != found -> goto leave_stale
		:: else -> inside++
		fi;
		if
		:: op == HIT -> skip
		:: op == OPEN -> goto open
		:: op == REFRESH -> goto refresh
		:: op == DOUBT -> goto doubt
		:: op == OUTGROW -> within = true; goto retire
		:: op == DUP -> goto dup
		fi
	END;

	/* ---- inside ---- */
#ifdef NO_RELOAD
	STEP
		b = seen;
#else
	STEP
		load(KNOWN, b);
#endif
		if
		:: b == 0 -> goto leave
		:: else -> skip
		fi
	END;
	STEP load(BASE, b); assert(mapped[b]) END; /* the first byte */
	STEP assert(mapped[b]); b = 0; goto leave END; /* the last */

doubt:	STORE_STEP store(KNOWN, 0); goto leave END;

open:	LOCKED_STEP
		if
		:: (state & BITS) != 0 -> goto leave
		:: else -> state = state | OPENING
		fi;
		blocked[t] = true; /* since before */
		mappings++;
		b = mappings;
		mapped[b] = true
	END;
	STORE_STEP store(BASE, b) END;
	STEP /* is the number still the handle's? */
		if
		:: entry[0] & 1 -> b = 0
		:: else -> goto not_same
		fi
	END;
	STORE_STEP store(KNOWN, 1) END;
	LOCKED_STEP
		seen = state;
		state = (state & ~OPENING) | LIVE;
		if
		:: seen & (DYING | DEAD) -> skip
		:: else -> blocked[t] = false; goto leave
		fi
	END;
	STORE_STEP store(KNOWN, 0) END;
	LOCKED_STEP state = state | DYING; blocked[t] = false; goto leave END;

not_same:
	STORE_STEP store(BASE, 0) END;
	STEP assert(mapped[b]); mapped[b] = false; b = 0 END;
	LOCKED_STEP
		state = state & ~OPENING;
		blocked[t] = false;
		goto leave
	END;

refresh:
	STEP
		if
		:: (state & (LIVE | DYING | DEAD | CLOSING)) != LIVE -> goto leave
		:: else -> skip
		fi
	END;
	STORE_STEP store(KNOWN, 1) END;
	LOCKED_STEP
		if
		:: state & (DYING | DEAD) -> skip
		:: else -> goto leave
		fi
	END;
	STORE_STEP store(KNOWN, 0); goto leave END;

	/* The kernel has made the new number, and nobody else knows it yet. */
dup:	STEP
		if
		:: entry[0] != found -> goto leave
		:: else -> skip
		fi
	END;
	LOCKED_STEP
#ifndef REF_FROM_ZERO
		if
		:: refs == 0 -> goto leave
		:: else -> skip
		fi;
#endif
		refs++
	END;
	LOCKED_STEP entry[1] = entry[1] + 3; goto leave END;

	/* ---- leave ---- */
leave:
#if defined(ALONE) || defined(NO_FENCE_CLEAR)
	STORE_STEP store(SLOT(slot), 0); inside--; goto left END;
leave_stale:
	STORE_STEP store(SLOT(slot), 0) END;
#else
	LOCKED_STEP mem[SLOT(slot)] = 0; inside--; goto left END;
leave_stale:
	LOCKED_STEP mem[SLOT(slot)] = 0 END;
#endif
left:	STEP
		if
		:: state & (DYING | DEAD) -> goto finish
		:: else -> goto next
		fi
	END;

	/* ---- the number is about to be closed; the duplicate first ---- */
close:	STEP
		number = entry[1] & 1;
		found = entry[number];
		if
		:: !(found & 1) -> goto next
		:: else -> skip
		fi
	END;
	LOCKED_STEP
		if
		:: entry[number] == found -> entry[number] = found + 1
		:: else -> goto next
		fi
	END;
	LOCKED_STEP
		refs--;
		if
		:: refs == 0 -> last = true; goto retire
		:: else -> goto next
		fi
	END;

drop:	STEP /* whatever is open */
		load(BASE, b);
		if
		:: b == 0 -> goto next
		:: else -> b = 0
		fi
	END;

retire:	LOCKED_STEP state = state | DYING | (last -> DEAD : 0) END;
	STORE_STEP store(KNOWN, 0) END;

	/* The first step is retire's fence as well; whoever leaves has just had one. */
finish:
#ifdef ALONE
	STEP
#else
	LOCKED_STEP
#endif
		seen = state;
		if
		:: !(seen & (DYING | DEAD)) || (seen & (OPENING | CLOSING)) -> goto finished
		:: else -> skip
		fi
	END;
	look_through(finished, nobody);
nobody:	if
	:: seen & LIVE -> goto claim
	:: else
	fi;
	LOCKED_STEP
		if
		:: state != seen -> goto finished
		:: else -> skip
		fi;
#ifdef NO_GENERATION
		state = 0;
#else
		state = (seen & ~BITS) + GENERATION;
#endif
		if
		:: seen & DEAD -> goto dead
		:: else -> goto finished
		fi
	END;

claim:	STEP blocked[t] = true END;
again:	STEP
		seen = state;
		if
		:: !(seen & (DYING | DEAD)) || (seen & (OPENING | CLOSING)) -> goto finished
		:: else -> skip
		fi
	END;
	look_through(finished, first_look);
first_look:
	LOCKED_STEP
		if
		:: state == seen -> state = (seen & (DEAD | ~BITS)) | CLOSING
		:: else -> goto finished
		fi
	END;
#ifndef NO_SECOND_LOOK
	STORE_STEP store(KNOWN, 0) END;
#ifndef NO_FENCE_CLAIM
	LOCKED_STEP skip END;
#endif
	look_through(somebody, unmap);
somebody:
	LOCKED_STEP state = state | (seen & (LIVE | DYING | DEAD)) END;
	LOCKED_STEP state = state & ~CLOSING END; /* and the fence */
	goto again;
#endif

unmap:	STEP
		load(BASE, b);
		if
		:: b -> skip
		:: else -> goto unmapped
		fi
	END;
	STORE_STEP store(BASE, 0) END;
	STEP
		assert(mapped[b]);
		mapped[b] = false;
		b = 0
	END;
unmapped:
	LOCKED_STEP
		seen = state;
#ifdef NO_GENERATION
		state = 0;
#else
		state = (state & ~BITS) + GENERATION;
#endif
#ifdef DEAD_AT_ONCE
		if
		:: seen & DEAD -> skip
		:: else -> goto finished
		fi
	END;
#else
		/* Who came in while it was being unmapped may still be inside. */
		state = state | (seen & DEAD);
		blocked[t] = false;
		goto finish
	END;
#endif

dead:	STEP
		assert(!free && inside == 0 && !(entry[0] & 1) && !(entry[1] & 1));
		free = true
	END;
finished:
	atomic {
		blocked[t] = false; /* for our own handlers only */
		seen = 0;
		if
		:: within -> within = false; goto leave
		:: else -> goto next
		fi
	}

	/* ---- the handle stands for another file ---- */
make:	LOCKED_STEP
		if
		:: free -> free = false
		:: else -> goto next
		fi
	END;
	LOCKED_STEP
		assert(!(entry[0] & 1));
		refs = 1;
		entry[0] = entry[0] + 3
	END;

next:	STEP
		seen = 0; found = 0; number = 0; slot = 0; b = 0; last = false;
		op = second; second = third; third = NOTHING;
		goto begin
	END;

over:	atomic {
		top[t] == level ->
		ended++;
		if
		:: level > 0 -> top[t] = level - 1
		:: else -> skip
		fi
	}
undelivered:
	skip
}

/* When all is done, and all stores are seen. */
proctype verdict()
{
	byte i, live;

	ended == FRAMES;
	for (i : 0 .. THREADS - 1) {
		waiting[i] == 0
	}
	atomic {
		live = mapped[1] + mapped[2] + mapped[3] + mapped[4];
		assert((state & BITS) == (live -> LIVE : 0));
		assert(live <= 1 && inside == 0);
		assert((entry[0] & 1) + (entry[1] & 1) == refs);
		assert(free == (refs == 0));
		assert(refs || !live)
	}
}

inline visit(op)
{
	if
	:: op = HIT
	:: op = OPEN
	:: op = REFRESH
	:: op = DOUBT
	:: op = OUTGROW
	fi
}

/* What they do: in make check only what has something to say; with -DALL every mixture. */
#define DROPPED 1   /* by a call that ends all windows, and no number is closed */
#define TWO_LIVES 2 /* the handle is closed, used again, closed again */
#define OUTGROWN 3  /* one finds the file too long for its window */
#define COPIED 4    /* the number is duplicated, and closed meanwhile */
#ifndef ONLY
#define ONLY 0
#endif
#define chosen(scenario) (ONLY == 0 || ONLY == scenario)

init {
	byte one, two, three, second, third, i;

	atomic {
#if defined(ALONE)
		if
		:: visit(one)
		:: one = CLOSE; second = MAKE
		:: one = DROP
		:: one = DUP
		fi;
		if
		:: visit(two)
		:: two = CLOSE
		:: two = DROP
		fi;
		if
		:: visit(three)
		:: three = CLOSE; third = MAKE
		fi;
		run frame(0, one, second, NOTHING);
		run frame(1, two, NOTHING, NOTHING);
		run frame(2, three, third, NOTHING);
#elif defined(HANDLER)
		if
		:: one = HIT
		:: one = OPEN
		:: one = DUP
		fi;
		if
		:: two = HIT
		:: two = CLOSE
		fi;
		if
		:: three = CLOSE; second = MAKE
		:: three = OUTGROW
		fi;
		run frame(0, one, NOTHING, NOTHING);
		run frame(1, two, NOTHING, NOTHING);
		run frame(2, three, second, NOTHING);
#else
		if
#if defined(ALL)
		:: visit(one);
		   visit(two);
		   if
		   :: two > one -> two = HIT /* the other way round is the same */
		   :: else -> skip
		   fi;
		   if
		   :: three = CLOSE; second = MAKE; third = CLOSE
		   :: three = DROP; second = CLOSE; third = MAKE
		   fi
#endif
		:: chosen(DROPPED) -> one = HIT; two = REFRESH; three = DROP
		:: chosen(TWO_LIVES) ->
			one = HIT; two = OPEN;
			three = CLOSE; second = MAKE; third = CLOSE
		:: chosen(OUTGROWN) ->
			if
			:: one = OUTGROW; two = REFRESH; three = CLOSE
			:: one = OUTGROW; two = OPEN; three = DROP; second = CLOSE
			fi
		:: chosen(COPIED) -> one = HIT; two = DUP; three = CLOSE; second = MAKE
		fi;
		run frame(0, one, NOTHING, NOTHING);
		run frame(1, two, NOTHING, NOTHING);
		run frame(2, three, second, third);
#endif
		one = 0; two = 0; three = 0; second = 0; third = 0;
		for (i : 0 .. THREADS - 1) {
			run drain(i)
		}
		run verdict();

		/* The file's number is there, with a window or without. */
		entry[0] = 1;
		refs = 1;
		if
		:: state = LIVE; mem[KNOWN] = 1; mem[BASE] = 1; mapped[1] = true; mappings = 1
		:: skip
		fi
	}
}

ltl finishes { <> (ended == FRAMES) }

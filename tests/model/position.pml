/*
 * position.pml - the position word (shim/pos.h, pos.c) and all that is done with it: reads and
 * seeks served and not (shim/entry_io.c, io.c), borrowing, adopting (earn.c), closing
 * (numbers.c), forking and opening meanwhile (life.c, numbers.c).
 *
 * One handle, for file 0, with number 0 and perhaps number 1 as well; file 1 is what number 0
 * becomes when it was closed and is opened again, and is not tracked. Each byte of a file is
 * its own offset, so a read is right if it returns the offset where it should have been. A
 * step is one atomic access or one system call, with the decisions that follow. All accesses
 * that matter are CAS, or follow a full fence, so there are no store buffers. What a handle has
 * to earn is left to chance: at each place where the position may be adopted or a window
 * opened, it is or is not.
 *
 *   label            mirrors
 *   enter            pw_fd_entry, pw_hold, look_up and unchanged
 *   read             read_as, read_plain, pw_read_slow, from_window, read_kernels
 *   seek             lseek_as, pw_lseek_slow, seek_target, seek_end, seek_kernels
 *   begin, counted   pw_pos_begin, pw_pos_try_begin, pw_pos_end
 *   give_back        give_back
 *   adopt, adopt_at  pw_pos_adopt, pw_pos_adopt_at, adoptable
 *   window           open_window in earn.c, and `same` of pw_window_open
 *   let_go           let_go in earn.c
 *   share            pw_pos_share
 *   drop, close      pw_drop, pw_closing_begin, pw_pos_leave, pw_fd_clear, the real close,
 *                    pw_closing_end, and an open that gets the number
 *   open             pw_opening, the real open, pw_opened
 *   fork             fork_prepare, pw_share_all, share_one, the real fork, fork_parent
 *   child            another process with the same description
 *
 * Every effect on a file's position has one moment: the CAS of a move, or the real call. There
 * `right` moves as well, and everyone who reads, seeks or asks must be where it is. That is:
 * no byte is handed out twice, none is lost, and of the kernel's position and ours only one
 * is ever believed.
 *
 * Broken on purpose: NO_TAG, NO_INFLIGHT, NO_SHARED_TAG, NO_SIGBLOCK, NO_EPOCH. Found in the
 * code by this model, and mended: NO_RECHECK_GIVE, NO_RECHECK_ADOPT, NO_RECHECK_WINDOW,
 * NO_GATE_AT_CLOSE, NO_GATE_AT_OPEN, STRAY_SEEK, STRAY_END (README.md).
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

#define FILE_END 8

/* The kernel: what each number stands for, plus 1; where each file's description is. */
byte number[2];
byte kernels[2];

/* Where it should be. */
byte right[2];

/* The position word: tag, state, value. */
#define KERNEL 0
#define OURS 1
#define MOVING 2
#define value(p) ((p) % 16)
#define state(p) ((p) / 16 % 4)
#ifdef NO_TAG
#define make(before, state, value) ((state) * 16 + (value))
#else
#define make(before, state, value) (((before) / 64 + 1) * 64 + (state) * 16 + (value))
#endif
short pos;
bool shared; /* the flag PW_H_SHARED */

/* The fd table: bit 0, the handle stands there; above, a tag. */
byte entry[2];
byte refs;
byte mapped; /* whose pages the window has, plus 1 */

byte gate, epoch;
byte closers; /* calls, or handlers, between clearing an entry and the real close */
bool forked, child_has; /* the child has the description of file 0 */
bool opened;		/* nobody knows a number that open has not returned yet */

byte top[THREADS];
bool blocked[THREADS];
byte ended;

#define STEP atomic { top[t] == level ->
#define END }

/* A real call that reads, or writes, at the kernel's position. */
inline use(n)
{
	d = number[n];
	if
	:: d ->
		d--;
		assert(kernels[d] == right[d]);
		kernels[d]++;
		right[d]++
	:: else -> skip /* EBADF */
	fi;
	d = 0
}

/* OURS at p to OURS at `to`. */
inline move(p, to, moved)
{
	moved = (pos == p);
	if
	:: moved ->
		assert(value(p) == right[0]);
		right[0] = to;
		pos = make(p, OURS, to)
	:: else -> skip
	fi
}

#define NOTHING 0
#define READ 1
#define CUR 2
#define SET 3 /* to 0 */
#define TO_END 4
#define WRITE 5
#define SHARE 6
#define CLOSE 7
#define OPEN 8
#define FORK 9
#define LET_GO 10 /* a read that has found the window to be no gain */

/* The table is asked, and not the tag: does the number stand for the handle? */
#define stands_for(n) (entry[n] & 1)

#define STEP_WHEN(what) atomic { top[t] == level && (what) ->

proctype frame(byte f, op, second, mine)
{
	byte t = thread_of(f);
	byte level = level_of(f);
	byte n = mine;
	byte found, d, off, opening;
	short p;
	bool ok, gated;

	if
	:: level > 0 ->
		/* The signal comes at any moment, or never. */
		if
		:: atomic { top[t] == level - 1 && !blocked[t] -> top[t] = level }
		:: atomic { ended++; op = NOTHING; second = NOTHING; goto undelivered }
		fi
	:: else
	fi;

begin_op:
	if
	:: op == NOTHING -> goto over
	:: op == OPEN -> goto open
	:: op == FORK -> goto fork
	:: op == CLOSE -> goto drop
	:: else
	fi;

	/* ---- look the number up, name the handle, look again ---- */
enter:	STEP_WHEN(opened || op == OPEN || op == FORK)
		found = entry[n];
		if
		:: !(found & 1) -> goto untracked
		:: else -> skip
		fi
	END;
	STEP
		if
		:: entry[n] != found -> goto enter
		:: else -> skip
		fi;
		if
		:: op == WRITE -> goto begin
		:: op == SHARE || op == FORK || op == OPEN -> goto share
		:: op == CLOSE -> goto close
		:: else -> skip
		fi
	END;
	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS && op == READ && mapped -> goto hit
		:: state(p) == OURS && op == READ -> goto pread /* or a miss */
		:: state(p) == OURS && op != READ -> goto seek
		:: state(p) == KERNEL && op == READ -> goto read
		:: state(p) == KERNEL && op == CUR -> goto adopt
		:: state(p) == KERNEL && op == SET -> goto adopt_at
		:: state(p) == KERNEL && op != READ -> goto begin
		fi
	END;

	/* ---- served ---- */
hit:	STEP assert(mapped != 2) END;
	STEP
		move(p, value(p) + 1, ok);
		if
		:: ok -> goto next
		:: else -> goto enter
		fi
	END;

pread:	STEP
		d = number[n];
		if
		:: d == 0 -> skip /* EBADF */
		:: else -> goto look_again
		fi
	END;
	STEP
		if
		:: entry[n] == found -> entry[n] = found + 1; refs--
		:: else -> skip
		fi;
		goto enter
	END;
look_again:
	STEP
		if
		:: entry[n] != found -> goto enter
		:: else -> skip
		fi
	END;
	STEP
		move(p, value(p) + 1, ok);
		if
		:: ok -> assert(d == 1); d = 0; goto earned
		:: else -> d = 0; goto enter
		fi
	END;
earned:	if
	:: goto window
	:: goto let_go
	:: goto next
	fi;

seek:
#ifdef STRAY_SEEK
	if
	:: op == TO_END ->
		STEP
			d = number[n];
			if
			:: d -> kernels[d - 1] = FILE_END
			:: else -> skip
			fi
		END;
		d = 0
	:: else
	fi;
#endif
	STEP
		if
		:: entry[n] != found -> goto enter
		:: else -> skip
		fi
	END;
	STEP
		if
		:: op == SET -> off = 0
		:: op == TO_END -> off = FILE_END
		:: op == CUR -> off = value(p)
		fi;
		move(p, off, ok);
		off = 0;
		if
		:: ok -> goto next
		:: else -> goto enter
		fi
	END;

	/* ---- the kernel's: counted in, the real call, counted out ---- */
read:	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS -> goto enter
		:: else -> skip
		fi
	END;
	STEP
		if
		:: pos == p -> pos = p + 1; goto real
		:: else -> goto read
		fi
	END;

begin:	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS -> goto begin_ours
		:: else -> skip
		fi
	END;
	STEP
		if
		:: pos == p -> pos = p + 1; goto real
		:: else -> goto begin
		fi
	END;
begin_ours:
	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS -> goto give_back
		:: else -> goto begin
		fi
	END;

real:	STEP
		assert(state(pos) == KERNEL && value(pos)); /* it is counted (P3) */
		if
		:: op == READ || op == WRITE -> use(n)
		:: op == CLOSE || op == LET_GO -> skip
		:: else ->
			d = number[n];
			if
			:: d -> d--;
				assert(kernels[d] == right[d]);
				if
				:: op == SET -> kernels[d] = 0
				:: op == TO_END -> kernels[d] = FILE_END
				:: op == CUR -> skip
				fi;
				right[d] = kernels[d];
				d = 0
			:: else -> skip
			fi
		fi
	END;
counted:
	STEP
		p = pos;
		if
		:: state(p) != KERNEL || value(p) == 0 -> goto after_real
		:: else -> skip
		fi
	END;
	STEP
		if
		:: pos == p -> pos = make(p, KERNEL, value(p) - 1)
		:: else -> goto counted
		fi
	END;
after_real:
	if
	:: op == CLOSE -> goto clear
	:: op == READ -> goto adopt
	:: else -> goto next
	fi;

	/* ---- from ours to the kernel's ---- */
give_back:
#ifndef NO_SIGBLOCK
	STEP blocked[t] = true END;
#endif
	STEP
		if
		:: pos == p -> pos = make(p, MOVING, 0)
		:: else -> blocked[t] = false; goto not_given
		fi
	END;
#ifndef NO_RECHECK_GIVE
	STEP
		if
		:: stands_for(n) -> skip
		:: else -> goto not_mine
		fi
	END;
#endif
	STEP
		d = number[n];
		if
		:: d -> kernels[d - 1] = value(p)
		:: else -> skip
		fi;
		d = 0
	END;
	STEP
		if
		:: op == SHARE || op == FORK || op == OPEN -> pos = make(p, KERNEL, 0)
		:: else -> pos = make(p, KERNEL, 1)
		fi
	END;
	STEP
		blocked[t] = false;
		if
		:: op == SHARE || op == FORK || op == OPEN -> goto after_share
		:: else -> goto real
		fi
	END;
#ifndef NO_RECHECK_GIVE
not_mine:
	STEP pos = make(p, OURS, value(p)) END;
	STEP
		blocked[t] = false;
		if
#ifdef STRAY_END
		:: op == LET_GO -> goto counted
#else
		:: op == LET_GO -> goto next
#endif
		:: else -> goto enter
		fi
	END;
#endif
not_given:
	if
	:: op == SHARE || op == FORK || op == OPEN -> goto share_more
	:: else -> goto begin
	fi;

	/* ---- from the kernel's to ours: earned, or not ---- */
adopt:	if
	:: skip
	:: goto not_adopted
	fi;
	STEP
		p = pos;
		if
#ifdef NO_INFLIGHT
		:: state(p) != KERNEL -> goto not_adopted
#else
		:: state(p) != KERNEL || value(p) -> goto not_adopted
#endif
		:: else -> skip
		fi
	END;
	STEP
		if
		:: gate -> goto not_adopted
		:: else -> skip
		fi
	END;
	STEP
		if
		:: closers -> goto not_adopted
		:: else -> skip
		fi
	END;
	STEP
		if
		:: shared -> goto not_adopted
		:: else -> skip
		fi
	END;
#ifndef ALONE
	STEP blocked[t] = true END;
	STEP
		if
		:: pos == p -> pos = make(p, MOVING, 0)
		:: else -> goto adopt_unblock
		fi
	END;
	STEP
		if
		:: gate -> goto adopt_undo
		:: else -> skip
		fi
	END;
	STEP
		if
		:: closers -> goto adopt_undo
		:: else -> skip
		fi
	END;
	STEP
		if
		:: shared -> goto adopt_undo
		:: else -> skip
		fi
	END;
#endif
	STEP
		d = number[n];
		if
		:: d -> off = kernels[d - 1]; d = 0
		:: else -> goto adopt_undo
		fi
	END;
#ifndef NO_RECHECK_ADOPT
	STEP
		if
		:: stands_for(n) -> skip
		:: else -> goto adopt_undo
		fi
	END;
#endif
	STEP
#ifdef ALONE
		if
		:: pos != p -> goto adopt_undo
		:: else -> skip
		fi;
#endif
		pos = make(p, OURS, off);
		off = 0
	END;
	STEP
		blocked[t] = false;
		if
		:: op == READ -> goto window
		:: else -> goto enter
		fi
	END;
adopt_undo:
	STEP
#ifndef ALONE
		pos = make(p, KERNEL, 0);
#endif
		off = 0
	END;
adopt_unblock:
	STEP blocked[t] = false END;
not_adopted:
	if
	:: op == READ -> goto next
	:: else -> goto begin
	fi;

adopt_at:
	if
	:: skip
	:: goto begin
	fi;
	STEP
		p = pos;
		if
		:: state(p) != KERNEL || value(p) -> goto begin
		:: else -> skip
		fi
	END;
	STEP
		if
		:: gate -> goto begin
		:: else -> skip
		fi
	END;
	STEP
		if
		:: closers -> goto begin
		:: else -> skip
		fi
	END;
	STEP
		if
		:: shared -> goto begin
		:: else -> skip
		fi
	END;
	STEP
		if
		:: pos == p -> pos = make(p, OURS, 0); right[0] = 0; goto next
		:: else -> goto begin
		fi
	END;

	/* ---- a window, through the number ---- */
window:	STEP blocked[t] = true END;
	STEP d = number[n] END;
#ifndef NO_RECHECK_WINDOW
	STEP
		if
		:: stands_for(n) -> skip
		:: else -> d = 0
		fi
	END;
#endif
	STEP
		if
		:: d && mapped == 0 && refs -> mapped = d
		:: else -> skip
		fi;
		d = 0;
		blocked[t] = false;
		goto next
	END;

	/* ---- no gain: the window goes, and the position goes back ---- */
let_go:	STEP
		if
		:: mapped -> mapped = 0
		:: else -> goto next
		fi
	END;
	STEP_WHEN(state(pos) != MOVING)
		if
		:: state(pos) == OURS -> op = LET_GO; goto begin
		:: else -> goto next
		fi
	END;

	/* ---- the kernel's for good ---- */
share:	STEP shared = true END;
share_more:
	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS -> goto give_back
		:: else -> skip
		fi
	END;
#ifndef NO_SHARED_TAG
	STEP
		if
		:: pos == p -> pos = make(p, KERNEL, value(p))
		:: else -> goto share_more
		fi
	END;
#endif
after_share:
	if
	:: op == FORK -> goto fork_more
	:: op == SHARE -> STEP use(n); goto next END
	:: op == OPEN -> opened = true; goto next
	fi;

	/* ---- close, and another file under the same number ---- */
drop:	STEP
		found = entry[n];
		if
		:: !(found & 1) -> goto really
		:: else -> skip
		fi
	END;
#ifndef NO_GATE_AT_CLOSE
	STEP closers++; gated = true END;
#endif
#ifdef ALONE
	STEP
		if
		:: state(pos) != OURS -> goto clear
		:: else -> skip
		fi
	END;
#endif
	goto enter;
close:
give_up:
	STEP_WHEN(state(pos) != MOVING)
		p = pos;
		if
		:: state(p) == OURS -> goto begin
		:: else -> skip
		fi
	END;
#ifndef NO_GATE_AT_CLOSE
	STEP
		if
		:: pos == p -> pos = make(p, KERNEL, value(p))
		:: else -> goto give_up
		fi
	END;
#endif
clear:	STEP
		if
		:: entry[n] == found -> entry[n] = found + 1
		:: else -> goto really
		fi
	END;
	STEP
		refs--;
		if
		:: refs == 0 -> mapped = 0
		:: else -> skip
		fi
	END;
really:	STEP number[n] = 0 END;
	if
	:: gated -> STEP closers--; gated = false END
	:: else
	fi;
	STEP
		number[n] = 2;
		kernels[1] = 0;
		right[1] = 0;
		mine = 1; /* from now on, the other one */
		goto next
	END;

	/* ---- open, while others may fork ---- */
open:	STEP opening = epoch END;
	STEP number[n] = 1 END;
	STEP entry[n] = entry[n] + 3; refs = 1 END;
#ifndef NO_GATE_AT_OPEN
	STEP
		if
		:: gate -> goto enter
		:: else -> skip
		fi
	END;
#endif
#ifndef NO_EPOCH
	STEP
		if
		:: epoch != opening -> goto enter
		:: else -> skip
		fi
	END;
#endif
	opened = true;
	goto next;

	/* ---- fork: number by number, then the real one ---- */
fork:	STEP epoch++ END;
	STEP gate++; n = 0; goto enter END;
fork_more:
	STEP
		n++;
		if
		:: n < 2 -> goto enter
		:: else -> n = 0
		fi
	END;
	STEP
		forked = true;
		child_has = (number[0] == 1 || number[1] == 1)
	END;
#ifndef NO_GATE_AT_OPEN
	STEP epoch++ END;
#endif
	STEP gate--; goto next END;

untracked:
	STEP
		if
		:: op == FORK -> goto fork_more
		:: op == READ || op == WRITE || op == SHARE -> use(n)
		:: op == CLOSE -> goto really
		:: else ->
			/* of file 1, which nobody seeks in but to where it is */
			d = number[n];
			assert(d == 0 || kernels[d - 1] == right[d - 1]);
			d = 0
		fi
	END;

next:	STEP
		p = 0; found = 0; opening = 0; ok = false; n = mine;
		op = second; second = NOTHING;
		goto begin_op
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

/* What was forked reads with the description that it shares. */
proctype child()
{
	byte i;

end:	forked && child_has;
	do
	:: i < 2 ->
		atomic {
			i++;
			assert(kernels[0] == right[0]);
			kernels[0]++;
			right[0]++
		}
	:: else -> break
	od
}

proctype verdict()
{
	ended == FRAMES;
	assert(state(pos) != MOVING && (state(pos) == OURS || value(pos) == 0));
	assert(gate == 0 && closers == 0);
	assert((entry[0] & 1) + (entry[1] & 1) == refs);
	assert(refs == 0 || (state(pos) == OURS -> value(pos) : kernels[0]) == right[0]);
	assert(!child_has || (state(pos) == KERNEL && kernels[0] == right[0]));
	assert(number[0] != 2 || kernels[1] == right[1])
}

inline any(op)
{
	if
	:: op = READ
	:: op = CUR
	:: op = SET
	:: op = TO_END
	:: op = WRITE
	fi
}

inline either(op, this, that)
{
	if
	:: op = this
	:: op = that
	fi
}

/* Two threads that change places are the same two threads. */
inline in_order(first, then)
{
	if
	:: first > then -> then = first
	:: else -> skip
	fi
}

#define run_frames(a, a2, a_number, b, b2, b_number, c, c2, c_number) \
	run frame(0, a, a2, a_number);                                \
	run frame(1, b, b2, b_number);                                \
	run frame(2, c, c2, c_number)

/* What they do: in make check only what has something to say; with -DALL every mixture. */
#ifdef ALL
#define one_of_all(op, first, second) any(op)
#else
#define one_of_all(op, first, second) either(op, first, second)
#endif

#define MIXED 1	  /* three threads, one number */
#define CLOSING 2 /* two numbers, one of which is closed */
#define OPENING 3 /* one opens, one forks, one uses it */
#define FORKING 4 /* it is open, and one forks */
#ifndef ONLY
#define ONLY 0
#endif
#define chosen(scenario) (ONLY == 0 || ONLY == scenario)

init {
	byte one, two, three, second, m, n;

	atomic {
		number[0] = 1;
		entry[0] = 1;
		refs = 1;
		right[0] = 2;
		opened = true;
		if
		:: kernels[0] = 2
		:: pos = OURS * 16 + 2; mapped = 1
		fi;
#if defined(ALONE)
		number[1] = 1;
		entry[1] = 1;
		refs = 2;
		if
		:: any(one)
		:: either(one, CLOSE, SHARE)
		fi;
		if
		:: either(two, CLOSE, SET)
		:: two = FORK
#ifdef ALL
		:: any(two)
#endif
		fi;
		one_of_all(second, READ, READ);
		if
		:: three = CLOSE
		:: one_of_all(three, READ, READ)
		fi;
		either(m, 0, 1);
		run_frames(one, NOTHING, 0, two, second, m, three, NOTHING, 0);
#elif defined(HANDLER)
		number[1] = 1;
		entry[1] = 1;
		refs = 2;
		one_of_all(one, READ, WRITE);
		if
		:: two = CLOSE
		:: one_of_all(two, READ, READ)
		fi;
		one_of_all(three, SET, CUR);
		either(m, 0, 1);
		run_frames(one, NOTHING, 0, two, NOTHING, m, three, NOTHING, 1);
#else
		if
		:: chosen(MIXED) ->
			any(one);
			one_of_all(two, READ, TO_END);
			one_of_all(three, CUR, WRITE);
			run_frames(one, NOTHING, 0, two, NOTHING, 0, three, NOTHING, 0)
		:: chosen(CLOSING) ->
			number[1] = 1;
			entry[1] = 1;
			refs = 2;
			one_of_all(one, READ, WRITE);
#ifdef STRAY_END
			two = WRITE;
#else
			one_of_all(two, SET, SET);
#endif
			m = 1;
#ifdef ALL
			if
			:: skip
			:: m = 0; in_order(one, two)
			fi;
#endif
			one_of_all(three, READ, READ);
			run_frames(one, NOTHING, 0, two, NOTHING, m, CLOSE, three, 0)
		:: chosen(OPENING) ->
			opened = false;
			number[0] = 0;
			entry[0] = 0;
			refs = 0;
			right[0] = 0;
			kernels[0] = 0;
			pos = 0;
			mapped = 0;
			one_of_all(one, SET, SET);
			one_of_all(two, CUR, CUR);
			one_of_all(three, READ, READ);
			run_frames(OPEN, one, 0, FORK, NOTHING, 0, two, three, 0)
		:: chosen(FORKING) ->
			one_of_all(one, READ, READ);
			one_of_all(two, SET, SET);
			run_frames(one, NOTHING, 0, FORK, NOTHING, 0, two, READ, 0)
		fi;
#endif
		one = 0; two = 0; three = 0; second = 0; m = 0; n = 0;
		run child();
		run verdict()
	}
}

ltl finishes { <> (ended == FRAMES) }

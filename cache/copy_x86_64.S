/*
 * copy_x86_64.S - see copy.h. Leaf routines that never move the stack pointer, so the
 * fix-up can return to the caller from any instruction in them.
 *
 * Short copies load everything before they store anything, two overlapping moves per size
 * class; from REP_FROM bytes on the processor's string move is as fast as anything wider,
 * and does not dirty vector state (measured in tests/bench/percall, "copy" rows).
 */
#if !defined(__x86_64__)
#error "pagewell is written for x86-64: the guarded copy needs a port first"
#endif

#define REP_FROM 2048

	.text

/*
 * rdi dst, rsi src, rdx n > 0, rcx q; returns enum pw_copied in eax. Where it is the window
 * that is written to, the second look must wait until everybody can see the bytes: a
 * processor may load before its own stores have left it, and then *q would prove nothing.
 */
.macro WITNESSED name, stores
	.p2align 5
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	endbr64
	cmpb	$0, (%rcx)
	je	.Lno_witness_\name
	cmpq	$16, %rdx
	ja	.Lover_16_\name
	cmpl	$8, %edx
	jae	.L8_16_\name
	cmpl	$4, %edx
	jae	.L4_7_\name
	cmpl	$1, %edx
	je	.L1_\name
	movzwl	(%rsi), %eax
	movzwl	-2(%rsi,%rdx), %r8d
	movw	%ax, (%rdi)
	movw	%r8w, -2(%rdi,%rdx)
	jmp	.Llook_\name
.L1_\name:
	movzbl	(%rsi), %eax
	movb	%al, (%rdi)
	jmp	.Llook_\name
.L4_7_\name:
	movl	(%rsi), %eax
	movl	-4(%rsi,%rdx), %r8d
	movl	%eax, (%rdi)
	movl	%r8d, -4(%rdi,%rdx)
	jmp	.Llook_\name
.L8_16_\name:
	movq	(%rsi), %rax
	movq	-8(%rsi,%rdx), %r8
	movq	%rax, (%rdi)
	movq	%r8, -8(%rdi,%rdx)
.Llook_\name:
	.if \stores
	lock orl	$0, -8(%rsp)
	.endif
	cmpb	$0, (%rcx)
	je	.Llost_witness_\name
	xorl	%eax, %eax
	ret

	.p2align 4
.Lover_16_\name:
	cmpq	$32, %rdx
	ja	.Lover_32_\name
	movdqu	(%rsi), %xmm0
	movdqu	-16(%rsi,%rdx), %xmm1
	movdqu	%xmm0, (%rdi)
	movdqu	%xmm1, -16(%rdi,%rdx)
	jmp	.Llook_\name
.Lover_32_\name:
	cmpq	$64, %rdx
	ja	.Lover_64_\name
	movdqu	(%rsi), %xmm0
	movdqu	16(%rsi), %xmm1
	movdqu	-32(%rsi,%rdx), %xmm2
	movdqu	-16(%rsi,%rdx), %xmm3
	movdqu	%xmm0, (%rdi)
	movdqu	%xmm1, 16(%rdi)
	movdqu	%xmm2, -32(%rdi,%rdx)
	movdqu	%xmm3, -16(%rdi,%rdx)
	jmp	.Llook_\name

	.p2align 4
.Lover_64_\name:
	cmpq	$REP_FROM, %rdx
	jae	.Lrep_\name
	/* The last 64 bytes are loaded first and stored last: the loop need not be exact. */
	movdqu	-64(%rsi,%rdx), %xmm4
	movdqu	-48(%rsi,%rdx), %xmm5
	movdqu	-32(%rsi,%rdx), %xmm6
	movdqu	-16(%rsi,%rdx), %xmm7
	leaq	-64(%rdi,%rdx), %r8
.Lloop_\name:
	movdqu	(%rsi), %xmm0
	movdqu	16(%rsi), %xmm1
	movdqu	32(%rsi), %xmm2
	movdqu	48(%rsi), %xmm3
	movdqu	%xmm0, (%rdi)
	movdqu	%xmm1, 16(%rdi)
	movdqu	%xmm2, 32(%rdi)
	movdqu	%xmm3, 48(%rdi)
	addq	$64, %rsi
	addq	$64, %rdi
	cmpq	%r8, %rdi
	jb	.Lloop_\name
	movdqu	%xmm4, (%r8)
	movdqu	%xmm5, 16(%r8)
	movdqu	%xmm6, 32(%r8)
	movdqu	%xmm7, 48(%r8)
	jmp	.Llook_\name

	.p2align 4
.Lrep_\name:
	movq	%rcx, %r9
	movq	%rdx, %rcx
	rep movsb
	/* String moves are outside the usual order: nothing after this begins before they
	 * are done. */
	.if \stores
	mfence
	.else
	lfence
	.endif
	movq	%r9, %rcx
	jmp	.Llook_\name

.Lno_witness_\name:
	movl	$1, %eax
	ret
.Llost_witness_\name:
	movl	$2, %eax
	ret
	.globl	\name\()_end
	.hidden	\name\()_end
\name\()_end:
	.globl	\name\()_fixup
	.hidden	\name\()_fixup
\name\()_fixup:
	movl	$3, %eax
	ret
	.size	\name, . - \name
.endm

	WITNESSED pw_copy_witnessed, 0
	WITNESSED pw_copy_stored, 1

/* rdi p, rsi n; returns the address of the first non-zero byte or 0 in rax. */
	.p2align 5
	.globl	pw_copy_look_ahead
	.hidden	pw_copy_look_ahead
	.type	pw_copy_look_ahead, @function
pw_copy_look_ahead:
	endbr64
	pxor	%xmm0, %xmm0
.L16:
	cmpq	$16, %rsi
	jb	.Lbytes
	movdqu	(%rdi), %xmm1
	pcmpeqb	%xmm0, %xmm1
	pmovmskb %xmm1, %eax
	xorl	$0xffff, %eax
	jnz	.Lfound_16
	addq	$16, %rdi
	subq	$16, %rsi
	jmp	.L16
.Lfound_16:
	bsfl	%eax, %eax
	addq	%rdi, %rax
	ret
.Lbytes:
	testq	%rsi, %rsi
	jz	.Lnothing
	cmpb	$0, (%rdi)
	jne	.Lfound_byte
	incq	%rdi
	decq	%rsi
	jmp	.Lbytes
.Lfound_byte:
	movq	%rdi, %rax
	ret
.Lnothing:
	xorl	%eax, %eax
	ret
	.globl	pw_copy_look_ahead_end
	.hidden	pw_copy_look_ahead_end
pw_copy_look_ahead_end:
	.globl	pw_copy_look_ahead_fixup
	.hidden	pw_copy_look_ahead_fixup
pw_copy_look_ahead_fixup:
	xorl	%eax, %eax
	ret
	.size	pw_copy_look_ahead, . - pw_copy_look_ahead

	.section .note.GNU-stack, "", @progbits

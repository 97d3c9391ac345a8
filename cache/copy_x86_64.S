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

/* rdi dst, rsi src, rdx n > 0, rcx q; returns enum pw_copied in eax. */
	.p2align 5
	.globl	pw_copy_witnessed
	.hidden	pw_copy_witnessed
	.type	pw_copy_witnessed, @function
pw_copy_witnessed:
	endbr64
	cmpb	$0, (%rcx)
	je	.Lno_witness
	cmpq	$16, %rdx
	ja	.Lover_16
	cmpl	$8, %edx
	jae	.L8_16
	cmpl	$4, %edx
	jae	.L4_7
	cmpl	$1, %edx
	je	.L1
	movzwl	(%rsi), %eax
	movzwl	-2(%rsi,%rdx), %r8d
	movw	%ax, (%rdi)
	movw	%r8w, -2(%rdi,%rdx)
	jmp	.Llook
.L1:
	movzbl	(%rsi), %eax
	movb	%al, (%rdi)
	jmp	.Llook
.L4_7:
	movl	(%rsi), %eax
	movl	-4(%rsi,%rdx), %r8d
	movl	%eax, (%rdi)
	movl	%r8d, -4(%rdi,%rdx)
	jmp	.Llook
.L8_16:
	movq	(%rsi), %rax
	movq	-8(%rsi,%rdx), %r8
	movq	%rax, (%rdi)
	movq	%r8, -8(%rdi,%rdx)
.Llook:
	cmpb	$0, (%rcx)
	je	.Llost_witness
	xorl	%eax, %eax
	ret

	.p2align 4
.Lover_16:
	cmpq	$32, %rdx
	ja	.Lover_32
	movdqu	(%rsi), %xmm0
	movdqu	-16(%rsi,%rdx), %xmm1
	movdqu	%xmm0, (%rdi)
	movdqu	%xmm1, -16(%rdi,%rdx)
	jmp	.Llook
.Lover_32:
	cmpq	$64, %rdx
	ja	.Lover_64
	movdqu	(%rsi), %xmm0
	movdqu	16(%rsi), %xmm1
	movdqu	-32(%rsi,%rdx), %xmm2
	movdqu	-16(%rsi,%rdx), %xmm3
	movdqu	%xmm0, (%rdi)
	movdqu	%xmm1, 16(%rdi)
	movdqu	%xmm2, -32(%rdi,%rdx)
	movdqu	%xmm3, -16(%rdi,%rdx)
	jmp	.Llook

	.p2align 4
.Lover_64:
	cmpq	$REP_FROM, %rdx
	jae	.Lrep
	/* The last 64 bytes are loaded first and stored last: the loop need not be exact. */
	movdqu	-64(%rsi,%rdx), %xmm4
	movdqu	-48(%rsi,%rdx), %xmm5
	movdqu	-32(%rsi,%rdx), %xmm6
	movdqu	-16(%rsi,%rdx), %xmm7
	leaq	-64(%rdi,%rdx), %r8
.Lloop:
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
	jb	.Lloop
	movdqu	%xmm4, (%r8)
	movdqu	%xmm5, 16(%r8)
	movdqu	%xmm6, 32(%r8)
	movdqu	%xmm7, 48(%r8)
	jmp	.Llook

	.p2align 4
.Lrep:
	movq	%rcx, %r9
	movq	%rdx, %rcx
	rep movsb
	/* String moves are outside the usual order of loads: nothing after this begins
	 * before they are done. */
	lfence
	movq	%r9, %rcx
	jmp	.Llook

.Lno_witness:
	movl	$1, %eax
	ret
.Llost_witness:
	movl	$2, %eax
	ret
	.globl	pw_copy_witnessed_end
	.hidden	pw_copy_witnessed_end
pw_copy_witnessed_end:
	.globl	pw_copy_witnessed_fixup
	.hidden	pw_copy_witnessed_fixup
pw_copy_witnessed_fixup:
	movl	$3, %eax
	ret
	.size	pw_copy_witnessed, . - pw_copy_witnessed

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

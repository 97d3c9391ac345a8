/*
 * clone_x86_64.S - a child in our memory, on a stack of its own, that calls one function and
 * ends. libc's clone() may be the preload library's, which has its own idea of children that
 * share memory.
 */
#include <asm/unistd_64.h>

	.text

/* rdi run, rsi arg, rdx top of the stack, rcx flags; returns the pid or -errno. */
	.globl	pw_clone_call
	.hidden	pw_clone_call
	.type	pw_clone_call, @function
pw_clone_call:
	endbr64
	andq	$-16, %rdx
	movq	%rdi, -8(%rdx)	/* for the child, on its stack */
	movq	%rsi, -16(%rdx)
	leaq	-16(%rdx), %rsi
	movq	%rcx, %rdi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	movl	$__NR_clone, %eax
	syscall
	testq	%rax, %rax
	jz	.Lchild
	ret
.Lchild:
	xorl	%ebp, %ebp
	popq	%rdi
	popq	%rax
	call	*%rax
	movl	%eax, %edi
	movl	$__NR_exit, %eax
	syscall
	hlt
	.size	pw_clone_call, . - pw_clone_call

	.section .note.GNU-stack, "", @progbits

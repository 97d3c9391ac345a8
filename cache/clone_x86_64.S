/*
 * clone_x86_64.S - a child in our memory, on a stack of its own, that calls one function and
 * ends. libc's clone() may be the preload library's, which has its own idea of children that
 * share memory.
 */
#include <asm/unistd_64.h>

	.text

/*
 * rdi run, rsi arg, rdx top of the stack, rcx flags; returns the pid or -errno. What the child
 * needs is in registers, not on its stack: valgrind makes a fork of this, which goes on on a copy
 * of the caller's.
 */
	.globl	pw_clone_call
	.hidden	pw_clone_call
	.type	pw_clone_call, @function
pw_clone_call:
	endbr64
	pushq	%rbx
	pushq	%r12
	movq	%rdi, %rbx
	movq	%rsi, %r12
	movq	%rdx, %rsi
	andq	$-16, %rsi
	movq	%rcx, %rdi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	movl	$__NR_clone, %eax
	syscall
	testq	%rax, %rax
	jz	.Lchild
	popq	%r12
	popq	%rbx
	ret
.Lchild:
	xorl	%ebp, %ebp
	andq	$-16, %rsp
	movq	%r12, %rdi
	call	*%rbx
	movl	%eax, %edi
	movl	$__NR_exit, %eax
	syscall
	hlt
	.size	pw_clone_call, . - pw_clone_call

	.section .note.GNU-stack, "", @progbits

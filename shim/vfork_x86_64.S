/*
 * vfork_x86_64.S - vfork(2). The child runs in our memory until it execs or exits, so it
 * must touch nothing of ours: its thread flag says so from before its first signal (all are
 * blocked over the system call, in both, until each has set its flag) until the parent goes
 * on. A vfork out of a vfork child changes no flag.
 *
 * The return address leaves the stack for the time of the call: the child returns over it.
 * The kernel keeps every register but rax, rcx and r11.
 */
	.text
	.globl	vfork
	.type	vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	pw_vfork_prepare
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	movl	%eax, %esi		/* 1: flags are ours to change */
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl	$58, %eax		/* SYS_vfork */
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	movl	%eax, %edi
	jmp	pw_vfork_after		/* (result, ours); returns to our caller */
	.cfi_endproc
	.size	vfork, . - vfork
	.globl	__vfork
	.type	__vfork, @function
	.set	__vfork, vfork

	.section .note.GNU-stack, "", @progbits

/*
 * thunk_x86_64.S - for every PW_THUNK of symbols.def: save the argument registers, call
 * pw_thunk_enter(index, arguments), restore, and jump to what it returned. The callee finds
 * registers and stack as its caller left them, whatever its prototype.
 */
	.text
	.set	pw_thunk_no, 0

#define ENTRY(symbol)                                                                      \
	.globl symbol;                                                                     \
	.type symbol, @function;                                                           \
	.p2align 4;                                                                        \
symbol:                                                                                    \
	.cfi_startproc;                                                                    \
	endbr64;                                                                           \
	movl	$pw_thunk_no, %r11d;                                                       \
	jmp	pw_thunk_common;                                                           \
	.cfi_endproc;                                                                      \
	.size symbol, . - symbol;                                                          \
	.set	pw_thunk_no, pw_thunk_no + 1;

#define SYMVER_GLIBC_2_15(name) .symver name##__GLIBC_2_15, name@@GLIBC_2.15, remove
#define SYMVER_GLIBC_2_2_5(name) .symver name##__GLIBC_2_2_5, name@GLIBC_2.2.5, remove

#define PW_THUNK(name, hook) ENTRY(name)
#define PW_UNDER(name, of) ENTRY(name)
#define PW_VERSIONED(name, node) ENTRY(name##__##node) SYMVER_##node(name);
#include "shim/symbols.def"

	.p2align 4
	.type	pw_thunk_common, @function
pw_thunk_common:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$192, %rsp
	andq	$-16, %rsp
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, 48(%rsp)
	movq	%r10, 56(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	movl	%r11d, %edi
	movq	%rsp, %rsi
	call	pw_thunk_enter
	movq	%rax, %r11
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movq	48(%rsp), %rax
	movq	56(%rsp), %r10
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*%r11
	.cfi_endproc
	.size	pw_thunk_common, . - pw_thunk_common

	.section .note.GNU-stack, "", @progbits

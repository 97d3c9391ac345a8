/*
 * pages.c - begins each page of code (PW_CODE_PAGE): linked first, it is what the others' parts of
 * these sections are laid behind.
 */
#define BEGIN(call)                                    \
	__asm__(".pushsection .text.sorted.pw_" #call  \
		",\"ax\",@progbits\n\t.p2align 12\n\t" \
		".popsection");

BEGIN(number)
BEGIN(read)
BEGIN(pread)
BEGIN(lseek)
BEGIN(write)

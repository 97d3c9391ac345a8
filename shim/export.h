/* export.h - how a function becomes an exported symbol, and how it gets other names. */
#ifndef PW_SHIM_EXPORT_H
#define PW_SHIM_EXPORT_H

#define PW_EXPORT __attribute__((visibility("default")))

/*
 * Another name for `of`, by assembler directive: a C alias would need the headers' own
 * declaration of the name, with its own types and macros.
 */
#define PW_TWIN(name, of)                                                           \
	__asm__(".globl " #name "\n\t.type " #name ", @function\n\t.set " #name "," \
		" " #of);

/*
 * A hidden name, for our own use: a call by the exported one could be bound to somebody
 * else's definition, and the symbol gate forbids it.
 */
#define PW_INTERNAL(name, of) \
	__asm__(".globl " #name "\n\t.hidden " #name "\n\t.set " #name ", " #of);

#endif

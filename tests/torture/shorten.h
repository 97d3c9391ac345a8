/*
 * shorten WAY FILE BYTES: makes a file shorter, or other, in one of the ways there are, and
 * has then returned.
 *
 *	o-trunc ftruncate truncate	to BYTES (o-trunc: by O_TRUNC, then so many are written)
 *	collapse			takes its second 64 KiB out
 *	rotate				copies it to FILE.1, cuts it off, writes BYTES
 *	clone				cuts it off, has it share all that FILE.other has
 *	clone-range			has its second 64 KiB be those of FILE.other
 *	fill				makes it BYTES long, none of them zero
 *
 * Status 3: the file system can't.
 */
#ifndef TORTURE_SHORTEN_H
#define TORTURE_SHORTEN_H

int shorten(int argc, char **argv);

#endif

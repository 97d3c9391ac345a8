/*
 * Lets Criterion run under ThreadSanitizer. Criterion keeps what its processes share in an
 * arena at an address drawn by rand_r; most of the range it draws from is TSan's shadow, and
 * after three misses it aborts. This rand_r, which its library finds before libc's, yields
 * only numbers that become addresses in the range TSan leaves to executables
 * (0x558000000000 up to 0x560000000000). So nothing in a test may rely on rand_r.
 */
#include <stdlib.h>

__attribute__((visibility("default"))) int rand_r(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return (int)(0x358000u + ((*seed >> 8) & 0x7fffu));
}

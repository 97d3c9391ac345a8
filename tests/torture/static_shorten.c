/* See shorten.h: a static program, which no preload reaches. */
#include "shorten.h"

int main(int argc, char **argv)
{
	return shorten(argc, argv);
}

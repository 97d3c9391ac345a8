/* See shorten.h. */
#include "shorten.h"

int main(int argc, char **argv)
{
	return shorten(argc, argv);
}

/* static_reader.c - a static program, which no preload reaches: reads from an inherited
 * number and says what it saw (self_reader in _self.h). */
#include "_self.h"

int main(int argc, char **argv)
{
	return self_reader(argc, argv);
}

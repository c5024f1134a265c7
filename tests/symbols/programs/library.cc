// A loop whose instructions come from headers of the library.
#include <numeric>
#include <vector>

__asm__(".section .rodata\nan_unsized_table:\n.zero 64\n.text\n");

__attribute__((noinline)) long total(const std::vector<long> &values)
{
	return std::accumulate(values.begin(), values.end(), 0L); /* line of total */
}

int main(int count, char **)
{
	return (int)total(std::vector<long>(static_cast<unsigned>(count), 7));
}

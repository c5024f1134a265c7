/* MPI: ranks that exchange and reduce. */
#include "counted.h"
#include <mpi.h>

int main(int count, char **arguments)
{
	int rank, ranks;
	unsigned long mine, all;

	MPI_Init(&count, &arguments);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0)
		counted();
	mine = work(20000000 + (unsigned long)rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d %lu\n", ranks, all);
	MPI_Finalize();
	return 0;
}

/* Bodies that attract each other: arithmetic, and data that the first cache holds. */
#include <math.h>
#include <stdio.h>

enum { BODIES = 64, STEPS = 1500, DIMENSIONS = 3 };
static double place[BODIES][DIMENSIONS], speed[BODIES][DIMENSIONS], mass[BODIES];

static void attract(double *own_speed, const double *own, const double *other, double other_mass)
{
	double distance[DIMENSIONS], square = 1e-3, pull;

	for (int k = 0; k < DIMENSIONS; k++) {
		distance[k] = other[k] - own[k];
		square += distance[k] * distance[k];
	}
	pull = other_mass / (square * sqrt(square));
	for (int k = 0; k < DIMENSIONS; k++)
		own_speed[k] += 1e-4 * distance[k] * pull;
}

int main(void)
{
	for (int i = 0; i < BODIES; i++) {
		mass[i] = 1 + i;
		for (int k = 0; k < DIMENSIONS; k++)
			place[i][k] = (i * 7 + k * 13) % 31;
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < BODIES; i++)
			for (int j = 0; j < BODIES; j++)
				if (i != j)
					attract(speed[i], place[i], place[j], mass[j]);
		for (int i = 0; i < BODIES; i++)
			for (int k = 0; k < DIMENSIONS; k++)
				place[i][k] += 1e-3 * speed[i][k];
	}
	printf("%f\n", place[3][1]);
	return 0;
}

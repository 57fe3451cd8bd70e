/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_NEAR_H
#define TARE_TESTS_NEAR_H

#include <math.h>

/* NaN is near nothing. */
static inline void assert_near(double got, double expected, double within)
{
	if (!(fabs(got - expected) <= within))
		fail_msg("got %.15g, expected %.15g within %g", got, expected, within);
}

#endif

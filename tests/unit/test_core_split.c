/* Numbers of f32 as two parts of f16 (--compute f32:f16). */
#include <math.h>

#include "checks.h"
#include "core/elementary.h"
#include "core/split.h"

/* High and low parts represent a number to 23 bits, small ones to 2^-36; scaled, the largest is
 * below the maximum of f16. */
TEST(parts) {
  for (int e = -149; e < 128; e++)
    for (int i = 0; i < 300; i++) {
      const float x = (float)ldexp(1.0 + i / 300.0, e);
      dm_split_line line = dm_split_include(dm_split_nothing(), x);
      const int32_t s = dm_split_exponent(line);
      assert_int_equal(s == DM_SPLIT_NATIVE, e < -111);
      if (s == DM_SPLIT_NATIVE) continue;
      const double scaled = ldexp(x, s);
      if (scaled > 65504.0 || scaled < 32750.0) fail_msg("%g is scaled to %g", x, scaled);
      assert_true(x * dm_split_scale(s) == (float)scaled);
      for (int down = 0; down < 40; down++) {
        const float part = (float)ldexp(scaled, -down);
        const float high = dm_f16_to_f32(dm_f64_to_f16((double)part));
        const float low = dm_f16_to_f32(dm_f64_to_f16((double)((part - high) * 0x1p11f)));
        const double lost = fabs((double)part - ((double)high + (double)low * 0x1p-11));
        if (lost > fmax(0x1p-23 * part, 0x1p-36)) fail_msg("%g of %g is lost", lost, part);
      }
    }
}

/* A row or column with one number 2^-DOWN times the others has no exponent beyond 33 or 34 binades.
 */
TEST(lines) {
  for (int down = 0; down < 60; down++) {
    dm_split_line line = dm_split_include(dm_split_nothing(), -1.0f);
    line = dm_split_include(dm_split_include(line, 0.0f), ldexpf(1.0f, -down));
    assert_int_equal(dm_split_exponent(line) == DM_SPLIT_NATIVE, down > 33);
  }
  const float special[] = {NAN, -INFINITY, INFINITY};
  for (int i = 0; i < 3; i++)
    assert_int_equal(dm_split_exponent(dm_split_include(dm_split_nothing(), special[i])),
                     DM_SPLIT_NATIVE);
  assert_int_equal(dm_split_exponent(dm_split_nothing()), 0);
}

RUN_ALL(test_core_split)

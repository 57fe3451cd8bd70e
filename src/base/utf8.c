/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

unsigned utf8_decode(const unsigned char *p, size_t length_bytes, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	uint32_t code;

	if (n == 0 || n > length_bytes)
		return 0;
	code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

void utf8_repair(char *text)
{
	size_t left = strlen(text);
	uint32_t code;

	while (left > 0) {
		unsigned n = utf8_decode((const unsigned char *)text, left, &code);

		if (n == 0) {
			*text = '?';
			n = 1;
		}
		text += n;
		left -= n;
	}
}

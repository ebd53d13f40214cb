/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8.h - the one decoder that tables and JSON share. */
#ifndef PAGEREEL_UTF8_H
#define PAGEREEL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes one character (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). Returns its
 * bytes, 0 if @text does not begin with a whole valid one; @room is at least 1.
 */
static inline size_t utf8_decode(const char *text, size_t room, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char lead = text[0];
	size_t bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 :
		       lead < 0xf5 ? 4 : 0;

	*code = 0;
	if (!bytes || bytes > room)
		return 0;
	*code = bytes == 1 ? lead : lead & (0xff >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++) {
		unsigned char next = text[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (next & 0x3f);
	}
	if (*code < least[bytes] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff)
		return 0;
	return bytes;
}

#endif

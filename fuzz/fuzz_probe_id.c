/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "packet/probe_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/*
 * Byte 0: the format; bytes 1, 2: tag; 3, 4: a hint; then the frame. What a
 * search of the whole frame reads, a reader finds again at the place it learned,
 * and id_find agrees with both.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint32_t frame_bytes, id = 0, again = 0;
	enum id_status status, second;
	struct id_reader plain, hinted;
	struct id_found found;
	enum id_format format;
	const uint8_t *frame;

	if (length < 5)
		return 0;
	format = (enum id_format)(bytes[0] % ID_FORMATS);
	frame = bytes + 5;
	frame_bytes = (uint32_t)(length - 5);

	id_reader_init(&plain, format, load_be16(bytes + 1));
	id_reader_init(&hinted, format, load_be16(bytes + 1));
	id_reader_hint(&hinted, load_be16(bytes + 3));
	id_read(&hinted, frame, frame_bytes, &id);

	id = 0;
	status = id_read(&plain, frame, frame_bytes, &id);
	TARE_ASSERT(status == ID_OK || id == 0);
	second = id_read(&plain, frame, frame_bytes, &again);
	/* A warm-up or foreign id may stand before the place learned; it is seen or not, but never a third thing. */
	TARE_ASSERT(status != ID_OK || (second == ID_OK && again == id));
	TARE_ASSERT(plain.hint_count <= ID_HINTS_MAX);

	id_find(format, frame, frame_bytes, &found);
	TARE_ASSERT(found.offset_bytes <= frame_bytes);
	if (format != ID_NATIVE && status == ID_OK)
		TARE_ASSERT(found.status == ID_OK && found.id == id);
	id_detect(frame, frame_bytes, &found);
	TARE_ASSERT(found.status != ID_OK || found.format != ID_NONE);
	instrument_find(frame, frame_bytes);
	return 0;
}

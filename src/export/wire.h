/* The wire format of Protocol Buffers for traces: fields of variable-length numbers, of 64 bits, and of bytes. A field
 * that does not fit into the buffer is omitted. */
#ifndef FATHOM_EXPORT_WIRE_H
#define FATHOM_EXPORT_WIRE_H

#include <stdint.h>
#include <string.h>

enum { FM_WIRE_ROOM = 4096 };

struct fm_wire {
	uint8_t bytes[FM_WIRE_ROOM];
	size_t used;
};

static inline size_t fm_wire_varint(uint8_t *place, uint64_t value)
{
	size_t used = 0;

	for (; value >= 0x80; value >>= 7)
		place[used++] = (uint8_t)(value | 0x80);
	place[used++] = (uint8_t)value;
	return used;
}

static inline void fm_wire_number(struct fm_wire *wire, unsigned field, uint64_t value)
{
	if (wire->used > FM_WIRE_ROOM - 16)
		return;
	wire->used += fm_wire_varint(wire->bytes + wire->used, (uint64_t)field << 3);
	wire->used += fm_wire_varint(wire->bytes + wire->used, value);
}

static inline void fm_wire_double(struct fm_wire *wire, unsigned field, double value)
{
	if (wire->used > FM_WIRE_ROOM - 16)
		return;
	wire->used += fm_wire_varint(wire->bytes + wire->used, (uint64_t)field << 3 | 1);
	memcpy(wire->bytes + wire->used, &value, sizeof(value)); /* little endian, like this machine */
	wire->used += sizeof(value);
}

static inline void fm_wire_bytes(struct fm_wire *wire, unsigned field, const void *bytes, size_t count)
{
	if (count > FM_WIRE_ROOM - 16 || wire->used > FM_WIRE_ROOM - 16 - count)
		return;
	wire->used += fm_wire_varint(wire->bytes + wire->used, (uint64_t)field << 3 | 2);
	wire->used += fm_wire_varint(wire->bytes + wire->used, count);
	memcpy(wire->bytes + wire->used, bytes, count);
	wire->used += count;
}

static inline void fm_wire_message(struct fm_wire *wire, unsigned field, const struct fm_wire *inner)
{
	fm_wire_bytes(wire, field, inner->bytes, inner->used);
}

#endif

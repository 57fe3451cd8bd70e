/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/p4info_schema.h"

/* Field numbers are those of the P4Runtime specification's p4info and p4types. */

#define INT(NAME, NUMBER)                                                                                              \
	{                                                                                                              \
		NAME, NUMBER, TEXTPROTO_INT, NULL, NULL                                                                \
	}
#define BOOL(NAME, NUMBER)                                                                                             \
	{                                                                                                              \
		NAME, NUMBER, TEXTPROTO_BOOL, NULL, NULL                                                               \
	}
#define TEXT(NAME, NUMBER)                                                                                             \
	{                                                                                                              \
		NAME, NUMBER, TEXTPROTO_STRING, NULL, NULL                                                             \
	}
#define ENUM(NAME, NUMBER, VALUES)                                                                                     \
	{                                                                                                              \
		NAME, NUMBER, TEXTPROTO_ENUM, NULL, VALUES                                                             \
	}
#define MESSAGE(NAME, NUMBER, OF)                                                                                      \
	{                                                                                                              \
		NAME, NUMBER, TEXTPROTO_MESSAGE, &(OF), NULL                                                           \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, 0, TEXTPROTO_INT, NULL, NULL                                                                     \
	}
#define DEFINE(NAME, ...)                                                                                              \
	static const struct textproto_field NAME##_fields[] = { __VA_ARGS__, END };                                    \
	static const struct textproto_message NAME = { #NAME, NAME##_fields }

/* --- annotations --- */

DEFINE(documentation, TEXT("brief", 1), TEXT("description", 2));
DEFINE(location, TEXT("file", 1), INT("line", 2), INT("column", 3));
DEFINE(expression, TEXT("string_value", 1), INT("int64_value", 2), BOOL("bool_value", 3));
DEFINE(expression_list, MESSAGE("expressions", 1, expression));
DEFINE(pair, TEXT("key", 1), MESSAGE("value", 2, expression));
DEFINE(pair_list, MESSAGE("kv_pairs", 1, pair));
DEFINE(annotation, TEXT("name", 1), MESSAGE("expression_list", 2, expression_list),
       MESSAGE("kv_pair_list", 3, pair_list), MESSAGE("source_location", 4, location));

/* --- types --- */

static const struct textproto_message data_type;

static const struct textproto_field nothing_fields[] = { END };
static const struct textproto_message nothing = { "nothing", nothing_fields };
DEFINE(named_type, TEXT("name", 1));
DEFINE(width, INT("bitwidth", 1));
DEFINE(most_width, INT("max_bitwidth", 1));
DEFINE(bitstring, MESSAGE("bit", 1, width), MESSAGE("int", 2, width), MESSAGE("varbit", 3, most_width),
       TEXT("annotations", 4), MESSAGE("annotation_locations", 5, location),
       MESSAGE("structured_annotations", 6, annotation));
DEFINE(tuple, MESSAGE("members", 1, data_type));
DEFINE(header_stack, MESSAGE("header", 1, named_type), INT("size", 2));
DEFINE(union_stack, MESSAGE("header_union", 1, named_type), INT("size", 2));
static const struct textproto_field data_type_fields[] = {
	MESSAGE("bitstring", 1, bitstring),
	MESSAGE("bool", 2, nothing),
	MESSAGE("tuple", 3, tuple),
	MESSAGE("struct", 4, named_type),
	MESSAGE("header", 5, named_type),
	MESSAGE("header_union", 6, named_type),
	MESSAGE("header_stack", 7, header_stack),
	MESSAGE("header_union_stack", 8, union_stack),
	MESSAGE("enum", 9, named_type),
	MESSAGE("error", 10, nothing),
	MESSAGE("serializable_enum", 11, named_type),
	MESSAGE("new_type", 12, named_type),
	END,
};
static const struct textproto_message data_type = { "data_type", data_type_fields };

#define TYPE_ANNOTATIONS                                                                                               \
	TEXT("annotations", 2), MESSAGE("annotation_locations", 3, location),                                          \
		MESSAGE("structured_annotations", 4, annotation)
DEFINE(struct_member, TEXT("name", 1), MESSAGE("type_spec", 2, data_type));
DEFINE(struct_type, MESSAGE("members", 1, struct_member), TYPE_ANNOTATIONS);
DEFINE(header_member, TEXT("name", 1), MESSAGE("type_spec", 2, bitstring));
DEFINE(header_type, MESSAGE("members", 1, header_member), TYPE_ANNOTATIONS);
DEFINE(union_member, TEXT("name", 1), MESSAGE("header", 2, named_type));
DEFINE(union_type, MESSAGE("members", 1, union_member), TYPE_ANNOTATIONS);
DEFINE(enum_member, TEXT("name", 1), TEXT("annotations", 2), MESSAGE("structured_annotations", 3, annotation),
       MESSAGE("annotation_locations", 4, location));
DEFINE(enum_type, MESSAGE("members", 1, enum_member), TEXT("annotations", 2),
       MESSAGE("structured_annotations", 3, annotation), MESSAGE("annotation_locations", 4, location));
DEFINE(serial_member, TEXT("name", 1), TEXT("value", 2), TEXT("annotations", 3),
       MESSAGE("structured_annotations", 4, annotation), MESSAGE("annotation_locations", 5, location));
DEFINE(serial_type, MESSAGE("underlying_type", 1, width), MESSAGE("members", 2, serial_member), TEXT("annotations", 3),
       MESSAGE("structured_annotations", 4, annotation), MESSAGE("annotation_locations", 5, location));
DEFINE(error_type, TEXT("members", 1));
DEFINE(translation, TEXT("uri", 1), INT("sdn_bitwidth", 2), MESSAGE("sdn_string", 3, nothing));
DEFINE(new_type, MESSAGE("original_type", 1, data_type), MESSAGE("translated_type", 2, translation),
       TEXT("annotations", 3), MESSAGE("structured_annotations", 4, annotation),
       MESSAGE("annotation_locations", 5, location));

/* A map is a repeated message of key and value. */
#define MAP_TO(OF) DEFINE(map_##OF, TEXT("key", 1), MESSAGE("value", 2, OF))
MAP_TO(struct_type);
MAP_TO(header_type);
MAP_TO(union_type);
MAP_TO(enum_type);
MAP_TO(serial_type);
MAP_TO(new_type);
DEFINE(type_info, MESSAGE("structs", 1, map_struct_type), MESSAGE("headers", 2, map_header_type),
       MESSAGE("header_unions", 3, map_union_type), MESSAGE("enums", 4, map_enum_type), MESSAGE("error", 5, error_type),
       MESSAGE("serializable_enums", 6, map_serial_type), MESSAGE("new_types", 7, map_new_type));

/* --- what the program has --- */

DEFINE(platform, INT("multicast_group_table_size", 1), INT("multicast_group_table_total_replicas", 2),
       INT("multicast_group_table_max_replicas_per_entry", 3));
DEFINE(pkg_info, TEXT("name", 1), TEXT("version", 2), MESSAGE("doc", 3, documentation), TEXT("annotations", 4),
       TEXT("arch", 5), TEXT("organization", 6), TEXT("contact", 7), TEXT("url", 8),
       MESSAGE("structured_annotations", 9, annotation), MESSAGE("annotation_locations", 10, location),
       MESSAGE("platform_properties", 11, platform));
DEFINE(preamble, INT("id", 1), TEXT("name", 2), TEXT("alias", 3), TEXT("annotations", 4),
       MESSAGE("doc", 5, documentation), MESSAGE("structured_annotations", 6, annotation),
       MESSAGE("annotation_locations", 7, location));

static const struct textproto_value match_types[] = {
	{ "UNSPECIFIED", 0 }, { "EXACT", 2 },    { "LPM", 3 }, { "TERNARY", 4 },
	{ "RANGE", 5 },       { "OPTIONAL", 6 }, { NULL, 0 },
};
static const struct textproto_value scopes[] = {
	{ "TABLE_AND_DEFAULT", 0 }, { "TABLE_ONLY", 1 }, { "DEFAULT_ONLY", 2 }, { NULL, 0 }
};
static const struct textproto_value idle_behaviors[] = { { "NO_TIMEOUT", 0 }, { "NOTIFY_CONTROL", 1 }, { NULL, 0 } };
static const struct textproto_value units[] = {
	{ "UNSPECIFIED", 0 }, { "BYTES", 1 }, { "PACKETS", 2 }, { "BOTH", 3 }, { NULL, 0 }
};
static const struct textproto_value meter_types[] = {
	{ "TWO_RATE_THREE_COLOR", 0 }, { "SINGLE_RATE_THREE_COLOR", 1 }, { "SINGLE_RATE_TWO_COLOR", 2 }, { NULL, 0 }
};

DEFINE(match_field, INT("id", 1), TEXT("name", 2), TEXT("annotations", 3), INT("bitwidth", 4),
       ENUM("match_type", 5, match_types), MESSAGE("doc", 6, documentation), TEXT("other_match_type", 7),
       MESSAGE("type_name", 8, named_type), MESSAGE("structured_annotations", 9, annotation),
       MESSAGE("annotation_locations", 10, location));
DEFINE(action_ref, INT("id", 1), TEXT("annotations", 2), ENUM("scope", 3, scopes),
       MESSAGE("structured_annotations", 4, annotation), MESSAGE("annotation_locations", 5, location));
DEFINE(argument, INT("param_id", 2), TEXT("value", 3));
DEFINE(action_call, INT("action_id", 1), MESSAGE("arguments", 4, argument));
DEFINE(table, MESSAGE("preamble", 1, preamble), MESSAGE("match_fields", 2, match_field),
       MESSAGE("action_refs", 3, action_ref), INT("const_default_action_id", 4),
       MESSAGE("initial_default_action", 5, action_call), INT("implementation_id", 6), INT("direct_resource_ids", 7),
       INT("size", 8), ENUM("idle_timeout_behavior", 9, idle_behaviors), BOOL("is_const_table", 10),
       BOOL("has_initial_entries", 11));
DEFINE(param, INT("id", 1), TEXT("name", 2), TEXT("annotations", 3), INT("bitwidth", 4),
       MESSAGE("doc", 5, documentation), MESSAGE("type_name", 6, named_type),
       MESSAGE("structured_annotations", 7, annotation), MESSAGE("annotation_locations", 8, location));
DEFINE(action, MESSAGE("preamble", 1, preamble), MESSAGE("params", 2, param));
DEFINE(member_sum, INT("max_member_weight", 1));
DEFINE(action_profile, MESSAGE("preamble", 1, preamble), INT("table_ids", 2), BOOL("with_selector", 3), INT("size", 4),
       INT("max_group_size", 5), MESSAGE("sum_of_weights", 6, nothing), MESSAGE("sum_of_members", 7, member_sum));
DEFINE(counter_spec, ENUM("unit", 1, units));
DEFINE(counter, MESSAGE("preamble", 1, preamble), MESSAGE("spec", 2, counter_spec), INT("size", 3),
       MESSAGE("index_type_name", 4, named_type));
DEFINE(direct_counter, MESSAGE("preamble", 1, preamble), MESSAGE("spec", 2, counter_spec), INT("direct_table_id", 3));
DEFINE(meter_spec, ENUM("unit", 1, units), ENUM("type", 2, meter_types));
DEFINE(meter, MESSAGE("preamble", 1, preamble), MESSAGE("spec", 2, meter_spec), INT("size", 3),
       MESSAGE("index_type_name", 4, named_type));
DEFINE(direct_meter, MESSAGE("preamble", 1, preamble), MESSAGE("spec", 2, meter_spec), INT("direct_table_id", 3));
DEFINE(metadata, INT("id", 1), TEXT("name", 2), TEXT("annotations", 3), INT("bitwidth", 4),
       MESSAGE("type_name", 5, named_type), MESSAGE("structured_annotations", 6, annotation),
       MESSAGE("annotation_locations", 7, location));
DEFINE(packet_metadata, MESSAGE("preamble", 1, preamble), MESSAGE("metadata", 2, metadata));
DEFINE(value_set, MESSAGE("preamble", 1, preamble), MESSAGE("match", 2, match_field), INT("size", 3));
DEFINE(register_cells, MESSAGE("preamble", 1, preamble), MESSAGE("type_spec", 2, data_type), INT("size", 3),
       MESSAGE("index_type_name", 4, named_type));
DEFINE(digest, MESSAGE("preamble", 1, preamble), MESSAGE("type_spec", 2, data_type));

static const struct textproto_field p4info_fields[] = {
	MESSAGE("pkg_info", 1, pkg_info),
	MESSAGE("tables", 2, table),
	MESSAGE("actions", 3, action),
	MESSAGE("action_profiles", 4, action_profile),
	MESSAGE("counters", 5, counter),
	MESSAGE("direct_counters", 6, direct_counter),
	MESSAGE("meters", 7, meter),
	MESSAGE("direct_meters", 8, direct_meter),
	MESSAGE("controller_packet_metadata", 9, packet_metadata),
	MESSAGE("value_sets", 10, value_set),
	MESSAGE("registers", 11, register_cells),
	MESSAGE("digests", 12, digest),
	MESSAGE("type_info", 200, type_info),
	END,
};
const struct textproto_message p4info_schema = { "P4Info", p4info_fields };

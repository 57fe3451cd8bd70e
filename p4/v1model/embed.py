#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the programs' texts as C: embed.py OUTPUT FOLDER NAME..."""
import os
import sys

output, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
parts = (("json", ".json"), ("p4info", ".p4info.txtpb"), ("entries", ".entries"))

with open(output, "w", encoding="ascii") as out:
    out.write('#include "target/v1model_program.h"\n\n')
    for name in names:
        for part, suffix in parts:
            with open(os.path.join(folder, name + suffix), "rb") as file:
                data = ",".join(str(byte) for byte in file.read() + b"\0")
            out.write(f"static const char {name}_{part}[] = {{{data}}};\n")
    out.write("\nconst struct v1model_text v1model_texts[] = {\n")
    for name in names:
        out.write(f'\t{{ "{name}", {name}_json, {name}_p4info, {name}_entries }},\n')
    out.write("\t{ 0 },\n};\n")

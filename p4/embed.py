#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the programs' texts as C: embed.py OUTPUT FOLDER NAME..."""
import os
import sys

output, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]


def text(name, suffix):
    path = os.path.join(folder, name + suffix)
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


with open(output, "w", encoding="ascii") as out:
    out.write('#include "target/pipeline_program.h"\n\n')
    for name in names:
        for suffix in (".spec", ".entries"):
            data = ",".join(str(byte) for byte in text(name, suffix) + b"\0")
            out.write(f"static const char {name}_{suffix[1:]}[] = {{{data}}};\n")
    out.write("\nconst struct program_text program_texts[] = {\n")
    for name in names:
        out.write(f'\t{{ "{name}", {name}_spec, {name}_entries }},\n')
    out.write("\t{ 0 },\n};\n")

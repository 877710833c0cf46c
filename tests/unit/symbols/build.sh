#!/bin/sh
# Builds the programs that test_symbolizer names, into OUT, and what binutils says of each.
# usage: build.sh SOURCE OUT LIST
#   NAME.addr      the address of every instruction but padding
#   NAME.expected  addr2line -a -i -f of them
#   LIST           the names of the variants that could be built
set -eu
src=$(realpath "$1") out=$2 list=$(realpath "$3")
mkdir -p "$out"
cd "$out"
rm -rf ./* .debug
: >"$list"

link() # NAME C-COMPILER C++-COMPILER FLAGS…
{
    name=$1 c=$2 cplus=$3
    shift 3
    "$c" "$@" -c "$src/plain.c" -o "$name.plain.o"
    "$c" -c "$src/entry.S" -o "$name.entry.o"
    "$cplus" "$@" -std=c++17 "$src/shapes.cc" "$name.plain.o" "$name.entry.o" -rdynamic -o "$name"
}

describe() # NAME
{
    objdump -d --no-show-raw-insn "$1" |
        grep -E '^ +[0-9a-f]+:' | grep -vE '	(data16|cs |nop|xchg +%ax,%ax|int3)' |
        sed -E 's/^ +([0-9a-f]+):.*/\1/' >"$1.addr"
    addr2line -a -i -f -e "$1" <"$1.addr" >"$1.expected"
    echo "$1" >>"$list"
}

link dwarf5 gcc g++ -O2 -gdwarf-5
link dwarf4 gcc g++ -O2 -gdwarf-4
link debug gcc g++ -O0 -g
link lto gcc g++ -O2 -g -flto
link split gcc g++ -O2 -gdwarf-5 -gsplit-dwarf
link symbols gcc g++ -O2
if command -v clang >/dev/null && command -v clang++ >/dev/null; then
    link clang clang clang++ -O2 -g
    link clang4 clang clang++ -O2 -gdwarf-4
    link clang_lines clang clang++ -O2 -gline-tables-only
fi
for name in dwarf5 dwarf4 debug lto split symbols clang clang4 clang_lines; do
    [ ! -f "$name" ] || describe "$name"
done

# gcc's libgomp is not everywhere; to link with it is all that is needed.
if g++ -O2 -g -fopenmp "$src/parallel.cc" -o parallel; then
    describe parallel
fi

# What addr2line itself takes for another function: code without DWARF at addresses that a dropped
# function has, which lies at 0, in a program whose headers and code are one segment (gold's way).
gcc -O2 -c "$src/plain.c" -o odd.plain.o
gcc -c "$src/entry.S" -o odd.entry.o
g++ -O2 -g -std=c++17 -ffunction-sections "$src/odd.cc" odd.plain.o odd.entry.o \
    -Wl,--gc-sections,-z,noseparate-code -o odd

# Built in a folder that is not said, as distributions do: glibc's sources are
# csu/../csu/libc-start.c.
(cd "$src" &&
    gcc -O2 -g "-fdebug-prefix-map=$src=csu/../lib" -c plain.c -o "$OLDPWD/relative.plain.o")
g++ -O2 -std=c++17 "$src/odd.cc" relative.plain.o odd.entry.o -o relative

gcc -O2 -g "$src/split.c" -o split_up
gcc -O2 -no-pie "$src/split.c" -o split_fixed

# The same code without its names, which are to be found elsewhere.
strip_to() # FROM TO
{
    objcopy --only-keep-debug "$1" "$2.dbg"
    cp "$1" "$2"
    strip "$2"
    objcopy --add-gnu-debuglink="$2.dbg" "$2"
}
strip_to dwarf5 linked
strip_to dwarf4 linked_dir
mkdir .debug
mv linked_dir.dbg .debug/
link no_id gcc g++ -O2 -g -Wl,--build-id=none
strip_to no_id linked_crc
strip_to no_id linked_wrong
printf x >>linked_wrong.dbg
strip symbols -o dynsym
if command -v xz >/dev/null; then
    objcopy -S --remove-section .gnu_debuglink symbols mini
    nm -D symbols --format=posix --defined-only | awk '{print $1}' | sort >dynamic.txt
    nm symbols --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ {print $1}' | sort >functions.txt
    comm -13 dynamic.txt functions.txt >keep.txt
    objcopy --only-keep-debug symbols mini.debug
    objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep.txt \
        mini.debug mini.symbols
    xz -k mini.symbols
    objcopy --add-section .gnu_debugdata=mini.symbols.xz mini
fi

# What libdw would do by itself, and may not: take the file that is at the path of one shared with
# others (dwz), and open a FIFO where the .dwo file should be.
printf '%s\0' "$PWD/linked.dbg" >altlink
printf '01234567890123456789' >>altlink
objcopy --add-section .gnu_debugaltlink=altlink dwarf5 alt_wrong
mkdir fifo
cp split fifo/split
objdump --dwarf=info split | sed -nE 's/.*DW_AT_dwo_name.*: +([^ ]*)$/\1/p' | while read -r dwo; do
    mkfifo "fifo/$dwo"
done
objcopy --compress-debug-sections=zlib dwarf5 packed
objcopy --compress-debug-sections=zlib-gnu dwarf5 packed_gnu

# A section of that name that is there in name only.
printf '.section .zdebug_info, "", @nobits\n.zero 4096\n.section .note.GNU-stack, "", @progbits\n' |
    gcc -c -x assembler - -o nobits.o
gcc -O2 -c "$src/plain.c" -o nobits.plain.o
g++ -O2 -std=c++17 "$src/odd.cc" nobits.plain.o odd.entry.o nobits.o -o nobits

# Assembly: a function without debugging entries, and the head of its unit of them.
start_code()
{
    cat <<'END'
        .text
        .globl _start
        .type _start, @function
_start: nop
        ret
        .size _start, . - _start
end:
END
}

start_unit()
{
    cat <<'END'
        .section .debug_info, "", @progbits
unit:   .long unit_end - version
version: .value 4
        .long 0
        .byte 8, 1
        .quad _start
        .long end - _start
END
}

# How entries of kinds 1, the unit, and 2, the function, are made up; more kinds may follow.
start_abbreviations()
{
    cat <<'END'
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0
        .byte 2, 0x2e, 1, 0x03, 8, 0x11, 1, 0x12, 6, 0, 0
END
}

# The function's entry, whose children follow.
start_function()
{
    cat <<'END'
        .byte 2
        .asciz "start"
        .quad _start
        .long end - _start
END
}

# A debugging entry whose sibling is its own child: whoever follows both walks it twice, and so on
# at each level.
siblings() # NAME TAG LEVELS
{
    {
        start_code
        start_abbreviations
        echo "        .byte 3, $2, 1, 0x01, 0x13, 0, 0, 0"
        start_unit
        start_function
        [ "$2" != 0x39 ] || echo '        .byte 0'
        i=0
        while [ $i -lt "$3" ]; do
            echo "        .byte 3"
            echo "        .long 1f - unit"
            echo "1:"
            i=$((i + 1))
        done
        echo '        .zero 16'
        echo 'unit_end:'
    } >"$1.S"
    gcc -nostdlib -static "$1.S" -o "$1"
}
siblings blocks 0x0b 60
siblings calls 0x1d 60
siblings namespaces 0x39 60

# Three million calls inlined into one function, of a byte each.
{
    start_code
    start_abbreviations
    echo "        .byte 3, 0x1d, 0, 0, 0, 0"
    start_unit
    start_function
    cat <<'END'
        .fill 3000000, 1, 3
        .zero 2
unit_end:
END
} >many_calls.S
gcc -nostdlib -static many_calls.S -o many_calls

# The same endless list of empty ranges, for each of many functions.
{
    start_code
    cat <<'END'
        .section .debug_ranges, "", @progbits
        .rept 99999
        .quad 1, 1
        .endr
        .quad 0, 0
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0
        .byte 2, 0x2e, 0, 0x55, 0x17, 0, 0, 0
END
    start_unit
    cat <<'END'
        .rept 100000
        .byte 2
        .long 0
        .endr
        .byte 0
unit_end:
END
} >ranges.S
gcc -nostdlib -static ranges.S -o ranges

# Assembly without .type and .size: reaches to the next symbol of its section, and no further.
    .text
    .globl asm_entry
asm_entry:
    mov %edi, %eax
    add $1, %eax
.Llocal:
    ret
asm_next:
    nop
    ret
    .globl sized
    .type sized, @function
sized:
    mov $1, %eax
inner_label:
    ret
    .size sized, . - sized
    # Code that no symbol covers.
    int3
    int3
    .section .text.other, "ax", @progbits
asm_last:
    ret
    .section .note.GNU-stack, "", @progbits

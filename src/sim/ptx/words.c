/* The words of the language: types, opcodes, special registers. */
#include "ptx.h"

const uint8_t ptx_type_bytes[PTX_TYPE_COUNT] = {0,
#define X(name, text, bytes, kind) bytes,
                                                PTX_TYPES(X)
#undef X
};

const char ptx_type_kind[PTX_TYPE_COUNT] = {0,
#define X(name, text, bytes, kind) kind,
                                            PTX_TYPES(X)
#undef X
};

const char *const ptx_type_text[PTX_TYPE_COUNT] = {"",
#define X(name, text, bytes, kind) text,
                                                   PTX_TYPES(X)
#undef X
};

const char *const ptx_opcode_text[PTX_OPCODE_COUNT] = {
#define X(name, text, family) text,
    PTX_OPCODES(X)
#undef X
};

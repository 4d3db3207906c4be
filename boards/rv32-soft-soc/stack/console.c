#include "board.h"

void board_print(const char *text)
{
    for (; *text != 0; text++)
        write_register(CONSOLE, (uint8_t)*text);
}

void board_print_number(uint32_t value)
{
    char digits[11];
    int at = 10;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    board_print(&digits[at]);
}

void board_read_line(char *line, int size)
{
    int len = 0;
    for (;;) {
        uint32_t data = read_register(CONSOLE);
        if ((data & 1u << 15) == 0)
            continue;
        if ((data & 0xff) == '\n')
            break;
        if (len < size - 1)
            line[len++] = (char)data;
    }
    line[len] = 0;
}

void board_fail(const char *file, int line)
{
    board_print("@ {\"event\":\"error\",\"file\":\"");
    board_print(file);
    board_print("\",\"line\":");
    board_print_number((uint32_t)line);
    board_print("}\n");
    for (;;)
        ;
}

uint32_t board_random(void)
{
    static uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

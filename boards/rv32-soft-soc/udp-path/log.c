#include "log.h"

#include "board.h"

#define UART 0x08006000u
#define UART_FIFO 0x00
#define UART_CLOCK_DIVIDER 0x14
#define UART_STATUS 0x1c
#define UART_FIFO_BYTES 128

void log_start(uint32_t divider)
{
    write_register(UART + UART_CLOCK_DIVIDER, divider);
}

/* The time in which the processor waits for the line. */
static void __attribute__((noinline)) wait_for_uart(void)
{
    while ((read_register(UART + UART_STATUS) >> 16 & 0xff) >= UART_FIFO_BYTES)
        ;
}

static char *put_text(char *at, const char *text)
{
    while (*text != 0)
        *at++ = *text++;
    return at;
}

static char *put_number(char *at, uint32_t value)
{
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

void log_datagram(const char *what, uint32_t socket, uint32_t number, uint32_t bytes)
{
    char line[80];
    char *at = put_text(line, what);
    at = put_number(put_text(at, ": socket "), socket);
    at = put_number(put_text(at, " datagram "), number);
    at = put_number(put_text(at, " bytes "), bytes);
    *at++ = '\n';
    for (char *it = line; it < at; it++) {
        wait_for_uart();
        write_register(UART + UART_FIFO, (uint8_t)*it);
    }
}

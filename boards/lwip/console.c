#include "console.h"

#include "machine.h"

#define LONGEST_LINE 80

void console_text(const char *text)
{
    for (; *text != 0; text++)
        machine_write(*text);
}

void console_number(uint64_t number)
{
    char digits[21];
    int at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    console_text(digits + at);
}

void console_event(const char *name)
{
    console_text("@ {\"event\":\"");
    console_text(name);
    console_text("\"");
}

static void member(const char *name)
{
    console_text(",\"");
    console_text(name);
    console_text("\":");
}

void console_member_text(const char *name, const char *text)
{
    member(name);
    console_text("\"");
    console_text(text);
    console_text("\"");
}

void console_member_number(const char *name, uint64_t number)
{
    member(name);
    console_number(number);
}

void console_end(void)
{
    console_text("}\n");
}

const char *console_line(void)
{
    static char line[LONGEST_LINE + 1];
    static unsigned length;
    for (int octet; (octet = machine_read()) >= 0;) {
        if (octet == '\n' || octet == '\r') {
            line[length] = 0;
            bool is_empty = length == 0;
            length = 0;
            if (!is_empty)
                return line;
        } else if (length < LONGEST_LINE) {
            line[length++] = (char)octet;
        }
    }
    return NULL;
}

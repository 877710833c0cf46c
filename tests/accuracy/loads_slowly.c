/* Links a library that takes long to load. */
int lingered(void);

int main(void)
{
    return lingered();
}

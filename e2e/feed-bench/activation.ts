export async function openEditors(...args: any[]): Promise<any> { return args; }

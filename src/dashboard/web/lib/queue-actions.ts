/** What several pages do to a queue. */
import { remove, segment } from './api';
import { attempt, confirm } from './dialogs';

/** Asks for the name first. True when the queue is gone. */
export async function deleteQueue(name: string): Promise<boolean> {
  const yes = await confirm({
    title: `Delete ${name}?`,
    text: 'The queue goes with its messages, cursors and dead letters. This cannot be undone.',
    action: 'Delete queue',
    ...{ isDanger: true, typed: name },
  });
  if (!yes) return false;
  return attempt(async () => {
    const { existed } = await remove<{ existed: boolean }>(
      `/api/v1/resources/queues/${segment(name)}`,
    );
    return existed ? `Deleted ${name}` : `${name} was gone already`;
  });
}
